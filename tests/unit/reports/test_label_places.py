from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from app.reports.label_places import Box, around, lead, place_labels

ROOM = Box(0, 0, 400, 300)


def placed(points, widths, taken=(), lines=()):
    return place_labels(points, [[width] for width in widths], 15, ROOM, taken, lines)


def test_label_stands_right_of_its_point_where_that_is_free():
    (place,) = placed([(100, 100)], [60])
    assert (place.box, place.is_far) == (Box(108, 92.5, 168, 107.5), False)


def test_label_at_the_right_edge_stands_left_of_its_point():
    (place,) = placed([(390, 100)], [60])
    assert place.box.right < 390
    assert place.box.within(ROOM)


def test_label_goes_farther_away_where_the_near_places_are_taken():
    (place,) = placed([(200, 150)], [60], taken=[around(200, 150, 20)])
    assert place.is_far
    assert not place.box.overlaps(around(200, 150, 20))


def test_label_without_a_free_place_is_none_and_others_keep_theirs():
    places = placed([(50, 50), (300, 200)], [60, 60], taken=[Box(0, 0, 200, 200)])
    assert places[0] is None
    assert places[1] is not None


def test_label_is_wider_than_the_room_finds_no_place():
    assert placed([(200, 150)], [500]) == [None]


def test_shorter_form_is_taken_where_the_longer_would_stand_on_a_line():
    roofs = [((0.0, 100.0), (400.0, 100.0)), ((0.0, 120.0), (400.0, 120.0)), ((220.0, 0.0), (220.0, 300.0))]
    walls = [Box(0, 0, 180, 300), Box(260, 0, 400, 300)]
    (place,) = place_labels([(200, 110)], [[70, 8]], 9, ROOM, walls, roofs)
    assert place.form == 1
    (free,) = place_labels([(200, 110)], [[70, 8]], 9, ROOM, [], [])
    assert free.form == 0


def test_lead_rather_goes_a_little_farther_than_across_a_line():
    line = ((0.0, 165.0), (400.0, 165.0))
    (place,) = placed([(200, 150)], [40], taken=[around(200, 150, 14)], lines=[line])
    assert place.box.bottom <= 165


def test_lead_ends_at_the_label():
    assert lead((0, 50), Box(20, 40, 60, 60)) == (20, 50)
    assert lead((40, 0), Box(20, 40, 60, 60)) == (40, 43)


spots = st.lists(st.tuples(st.floats(5, 395), st.floats(5, 295)), min_size=1, max_size=15)


@settings(max_examples=100, deadline=None)
@given(spots)
def test_labels_never_cover_each_other_or_a_point_and_stay_inside(points):
    taken = [around(x, y, 5) for x, y in points]
    boxes = [place.box for place in placed(points, [40] * len(points), taken) if place]
    assert all(box.within(ROOM) for box in boxes)
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    assert not any(box.overlaps(point) for box in boxes for point in taken)
