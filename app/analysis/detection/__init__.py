"""Change points of a series: `examine(values)` says where its level changed, by how much, and how surely."""

from app.analysis.detection.changes import examine
from app.analysis.detection.results import ChangePoint, Episode, Examination

__all__ = ["ChangePoint", "Episode", "Examination", "examine"]
