"""What the devices do: the service's queue and devices, and every GPU as dcgm-exporter tells of it."""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import Dashboard

from app.domain import device_use
from app.integrations.dcgm.fields import FIELDS, NO_COUNT, NO_MASK, SLOWED_BY
from dashboards.grafana import look, parts
from dashboards.grafana.boards.own import BANDS, HEALTH, INCIDENTS, told
from dashboards.grafana.parts import cells, decimals, lines, number, prop, row, sized, unit
from dashboards.grafana.queries import (
    GPUS,
    OF_GPU,
    OF_PART,
    PROMETHEUS_KIND,
    dcgm,
    field,
    prom,
    prom_now,
    prom_rows,
)

GPU, PART = "{{Hostname}} gpu {{gpu}}", "{{Hostname}} gpu {{gpu}} {{GPU_I_ID}}"
EACH = "Hostname, gpu, modelName, UUID"
NAMES = {"Hostname": "Host", "gpu": "GPU", "modelName": "Model", "UUID": "UUID"}
CLASSES = ('device_class=~"$device_class"',)

NO_EXPORTER = "no dcgm-exporter is scraped"
NO_FIELD = "this field is not in the exporter's counters file (docs/dcgm.md)"

IDLE_BELOW = round(100 * device_use.IDLE_BELOW)
"""Below so many per cent of the time in kernels a GPU is called idle, as the weekly report calls it."""

VIOLATIONS = {
    "power": ("DCGM_FI_DEV_POWER_VIOLATION", "DCGM_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP_NS"),
    "heat": ("DCGM_FI_DEV_THERMAL_VIOLATION", "DCGM_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN_NS"),
    "sync boost": ("DCGM_FI_DEV_SYNC_BOOST_VIOLATION", "DCGM_FI_DEV_CLOCKS_EVENT_REASON_SYNC_BOOST_NS"),
    "board limit": ("DCGM_FI_DEV_BOARD_LIMIT_VIOLATION",),
    "reliability": ("DCGM_FI_DEV_RELIABILITY_VIOLATION",),
}
"""Counters of nanoseconds, whatever counters files say of them."""

XIDS = {
    13: "program: exception in a kernel",
    31: "program: page fault",
    43: "program: GPU stopped working for it",
    45: "cleaned up after an earlier error",
    48: "uncorrectable memory error",
    62: "micro-controller halted",
    63: "memory row remapped",
    64: "memory row could not be remapped",
    74: "NVLink error",
    79: "fell off the bus",
    94: "contained memory error",
    95: "uncontained memory error",
    119: "GSP did not answer",
    120: "GSP error",
}
"""What NVIDIA's list of XID errors calls the frequent ones, in few words."""

FAULTS = {
    "Corrected": "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL",
    "Uncorrected": "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
    "Rows remapped, corrected": "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS",
    "Rows remapped, uncorrected": "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
    "Remapping failed": "DCGM_FI_DEV_ROW_REMAP_FAILURE",
    "PCIe replays": "DCGM_FI_DEV_PCIE_REPLAY_COUNTER",
}


def fleet(address: str) -> Dashboard:
    """Return the dashboard of devices."""
    made = parts.board(
        "ratchet-fleet",
        "Fleet",
        "What waits for devices, how healthy they are, and what every GPU does: work, power, heat, limits "
        "and faults.",
        since="now-6h",
        refresh="30s",
        address=address,
    )
    for page in (("Workers", "/workers"), ("Runs", "/runs")):
        parts.page_link(made, *page)
    made.with_variable(parts.source(PROMETHEUS_KIND))
    made.with_variable(
        parts.of_label("job", "Job", "Prometheus' scrape job of Ratchet", "ratchet_workers_live")
    )
    made.with_variable(
        parts.of_label("device_class", "Device class", "What jobs wait for", "ratchet_queue_depth")
    )
    util = "DCGM_FI_DEV_GPU_UTIL"
    made.with_variable(parts.of_label("host", "Host", "Hosts with GPUs", util, key="Hostname"))
    its_gpus = f'{util}{{Hostname=~"$host"}}'
    made.with_variable(parts.of_label("gpu", "GPU", "Numbers of GPUs on their hosts", its_gpus))
    lines_of_four = (sized(one, 6) for one in (*_queue(), _devices(), _incidents()))
    row(made, "Ratchet", *_numbers(), *lines_of_four, _by_class())
    row(made, "Work of GPUs", *_work())
    row(made, "Idle GPUs", *_idle())
    row(made, "Power, heat and clocks", *_power())
    row(made, "Slowed down", _reasons(), _violations())
    row(made, "Memory and links", *_memory())
    row(made, "Faults", _xid(), _faults())
    return made


def _numbers() -> tuple[object, ...]:
    waiting = told("ratchet_queue_depth", "band", "device_class", labels=CLASSES)
    bad = told("ratchet_devices", "health", labels=('health=~"suspect|quarantined"',))
    return (
        number(
            "Jobs that wait",
            "Queued jobs of all bands on these device classes. Many are no fault by themselves; worry when "
            "the oldest one beside it grows, too.",
            "none",
            prom_now(f"sum({waiting})"),
            empty="nothing waits",
        ),
        number(
            "Oldest of them",
            "How long the oldest queued job has waited. Worry above an hour: there are too few devices of "
            "its class, or none takes it.",
            "s",
            prom_now(f"max({told('ratchet_queue_oldest_seconds', labels=CLASSES)})"),
            steps=((900, look.WATCH), (3600, look.WORRY)),
            empty="nothing waits",
        ),
        number(
            "Workers live",
            "Agents that were heard of lately. Worry at none: nothing is measured.",
            "none",
            prom_now(told("ratchet_workers_live")),
            steps=((1, look.GOOD),),
            below=look.WORRY,
            empty="Ratchet is not scraped",
        ),
        number(
            "Heard of longest ago",
            "How long ago the worker was heard of that holds a lease and was heard of longest ago. A lease "
            "ends after 60 s without a heartbeat; worry above.",
            "s",
            prom_now(told("ratchet_heartbeat_age_seconds")),
            steps=((30, look.WATCH), (60, look.WORRY)),
            empty="nobody works",
        ),
        number(
            "Devices not good",
            "Devices that are suspect or quarantined. Nothing is measured on quarantined ones: see Workers "
            "in Ratchet for the reason. Worry about each.",
            "none",
            prom_now(f"sum({bad})"),
            steps=((1, look.WATCH), (3, look.WORRY)),
            empty="all are good",
        ),
        number(
            "GPUs seen",
            "GPUs that an exporter tells of on these hosts. Worry when there are fewer than there should "
            "be: one fell off the bus, or its exporter is away.",
            "none",
            prom_now(f"count({dcgm('util')})"),
            empty=NO_EXPORTER,
        ),
    )


def _queue() -> tuple[object, object]:
    by_band = f"sum by (band) ({told('ratchet_queue_depth', 'band', 'device_class', labels=CLASSES)})"
    oldest = told("ratchet_queue_oldest_seconds", "band", labels=CLASSES)
    return (
        lines(
            "Jobs that wait, by band",
            "Queued jobs by why they were asked for. Pull requests go first, backfill last. Worry when pull "
            "requests pile up.",
            "none",
            prom(by_band, "{{band}}"),
            colours=BANDS,
            stacked=True,
            empty="nothing waits",
        ),
        lines(
            "Age of the oldest, by band",
            "How long the oldest queued job of each band has waited. Worry when that of pull requests "
            "crosses the dashed hour.",
            "s",
            prom(oldest, "{{band}}"),
            colours=BANDS,
            limit=((3600, look.WORRY),),
            empty="nothing waits",
        ),
    )


def _devices() -> object:
    return lines(
        "Devices by health",
        "Devices that agents have told of: good, suspect (it measured differently from before), quarantined "
        "(nothing is measured on it), and what people took out of use. Worry when good ones become fewer.",
        "none",
        prom(told("ratchet_devices", "health"), "{{health}}"),
        colours=HEALTH,
        stacked=True,
        empty="no device is known",
    )


def _incidents() -> object:
    return lines(
        "Incidents of machines",
        "What is wrong and not over: devices in quarantine, processors that are not what they were, agents that "
        "were lost, classes that nobody serves though jobs wait. Worry about lost agents and such classes.",
        "none",
        prom(told("ratchet_incidents_open", "kind"), "{{kind}}"),
        colours=INCIDENTS,
        empty="Ratchet is not scraped",
    )


def _by_class() -> object:
    depth = f"sum by (device_class) ({told('ratchet_queue_depth', 'band', 'device_class', labels=CLASSES)})"
    oldest = told("ratchet_queue_oldest_seconds", "device_class", labels=CLASSES)
    panel = cells(
        "What waits for which devices",
        "Queued jobs and the age of the oldest, by device class. Worry about a class whose oldest job is "
        "above an hour: it needs devices.",
        "none",
        prom_rows(depth, "A"),
        prom_rows(oldest, "B"),
        columns={
            "Oldest": unit(
                "s", parts.steps((900, look.WATCH), (3600, look.WORRY)), parts.COLOURED_TEXT, decimals(0)
            )
        },
        by="Oldest",
        empty="nothing waits",
    )
    names = {"device_class": "Device class", "Value #A": "Jobs", "Value #B": "Oldest"}
    return sized(parts.renamed(panel, names, merged=True), 24, 6)


def _work() -> tuple[object, ...]:
    def share(metric: str, title: str, text: str) -> object:
        panel = lines(
            title,
            text,
            "percentunit",
            prom(dcgm(metric, OF_PART), PART),
            colours=look.OF_GPU,
            highest=1,
            empty=NO_FIELD,
        )
        return sized(panel, 12)

    util = lines(
        "A kernel runs",
        "Share of time in which any kernel runs, however small. It says whether a GPU is used, and not how "
        "well. Worry when a GPU that is leased stays at 0.",
        "percent",
        prom(dcgm("util"), GPU),
        colours=look.OF_GPU,
        highest=100,
        empty=NO_EXPORTER,
    )
    return (
        sized(util, 12),
        share(
            "sm_active",
            "Multiprocessors with work",
            "Share of cycles in which a multiprocessor has a warp, over all of them. Far below the panel "
            "beside it: kernels are too small for the GPU. An instance of a divided GPU is a line of its "
            "own.",
        ),
        share(
            "tensor_active",
            "Matrix units at work",
            "Share of cycles in which tensor pipes work. Near 0 in training or inference of large models "
            "means that the matrix units are not used: look at dtypes.",
        ),
        share(
            "dram_active",
            "Device memory moves data",
            "Share of cycles in which device memory moves data. Above 0.8 memory is what holds the work "
            "back.",
        ),
    )


def _idle() -> tuple[object, ...]:
    mean = f"avg_over_time(DCGM_FI_DEV_GPU_UTIL{{{GPUS}}}[30m])"
    idle = f"(max by ({OF_GPU}) ({mean}) <= 100) < bool {IDLE_BELOW}"
    rows_of = f"max by ({EACH}) ({mean}) < {IDLE_BELOW}"
    mean_power = f"max by ({EACH}) (avg_over_time(DCGM_FI_DEV_POWER_USAGE{{{GPUS}}}[30m]))"
    power = f"{mean_power} < {FIELDS['power_w'].highest:g} and on ({EACH}) ({rows_of})"
    panel = cells(
        "Which are idle",
        "GPUs that ran kernels in less than 5 % of the last 30 minutes, and the power that they drew all "
        "the same. Worry when they are idle while jobs wait for their class.",
        "none",
        prom_rows(rows_of, "A"),
        prom_rows(power, "B"),
        columns={"Busy": unit("percent", decimals(1)), "Power": unit("watt", decimals(0))},
        by="Power",
        empty="no GPU is idle",
    )
    names = NAMES | {"Value #A": "Busy", "Value #B": "Power"}
    return (
        sized(
            number(
                "GPUs that are idle",
                "GPUs that ran kernels in less than 5 % of the last 30 minutes. Worry when jobs wait at the "
                "same time.",
                "none",
                prom_now(f"sum({idle})"),
                steps=((1, look.WATCH),),
                empty=NO_EXPORTER,
            ),
            6,
            7,
        ),
        sized(
            number(
                "Share of GPUs that is idle",
                "The same as a share of the GPUs that are told of. Worry above one half over days: there "
                "are more GPUs than work.",
                "percentunit",
                prom_now(f"avg({idle})"),
                steps=((0.5, look.WATCH),),
                empty=NO_EXPORTER,
                digits=0,
            ),
            6,
            7,
        ),
        sized(parts.renamed(panel, names, merged=True), 12, 7),
    )


def _power() -> tuple[object, ...]:
    energy = f"max by ({OF_GPU}) (increase(DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{{{GPUS}}}[%s]))"
    kwh = "/ 3.6e9"
    heat = f"max by ({OF_GPU}) (DCGM_FI_DEV_GPU_TEMP{{{GPUS}}} < 200)"
    return (
        sized(
            lines(
                "Power",
                "What each GPU draws. Worry when one draws less than its equals under the same work: it is "
                "held back.",
                "watt",
                prom(dcgm("power_w"), GPU),
                colours=look.OF_GPU,
                empty=NO_EXPORTER,
            ),
            12,
        ),
        sized(
            lines(
                "Energy of the last hour, by host",
                "What the GPUs' energy counters rose by within an hour, added up for each host. Lines take "
                "their colour from their value. Worry when a host without work needs as much as one with.",
                "kwatth",
                prom(f"sum by (Hostname) ({energy % '1h'}) {kwh}", "{{Hostname}}"),
                empty=NO_EXPORTER,
            ),
            8,
        ),
        sized(
            number(
                "Energy in this time range",
                "What all these GPUs used, by their counters. Compare it with the device hours on the "
                "dashboard of efficiency.",
                "kwatth",
                prom_now(f"sum({energy % '$__range'}) {kwh}"),
                empty=NO_EXPORTER,
                digits=1,
            ),
            4,
            8,
        ),
        lines(
            "Temperature",
            "Each GPU's own temperature. Most slow down between 83 and 90 °C (dashed); worry there, and "
            "when one is 10 °C above its neighbours.",
            "celsius",
            prom(heat, GPU),
            colours=look.OF_GPU,
            limit=((83, look.WATCH), (90, look.WORRY)),
            empty=NO_EXPORTER,
        ),
        lines(
            "Clock of the multiprocessors",
            "Under work it should stand still where clocks are locked. Worry when it moves while a run "
            "measures.",
            "hertz",
            prom(f"{dcgm('sm_clock_hz')} * 1e6", GPU),
            colours=look.OF_GPU,
            empty=NO_EXPORTER,
        ),
        lines(
            "Clock of the memory",
            "It has few steps, and the highest under work. Worry when it is low under work.",
            "hertz",
            prom(f"{dcgm('mem_clock_hz')} * 1e6", GPU),
            colours=look.OF_GPU,
            empty=NO_EXPORTER,
        ),
    )


def _reasons() -> object:
    mask = (
        f"{field('DCGM_FI_DEV_CLOCK_THROTTLE_REASONS', 'DCGM_FI_DEV_CLOCKS_EVENT_REASONS')} < {NO_MASK:.0f}"
    )
    by_reason = [
        prom(
            f"sum(floor(max by ({OF_GPU}) ({mask}) / {bit}) % 2)",
            reason.replace("_", " "),
            chr(ord("A") + nth),
        )
        for nth, (bit, reason) in enumerate(SLOWED_BY.items())
    ]
    reasons = [reason.replace("_", " ") for reason in SLOWED_BY.values()]
    panel = lines(
        "GPUs that something slows down",
        "How many GPUs are below the clock that they could have, by the driver's reason; an idle GPU and "
        "clocks that were asked for are no reason. Worry about hw thermal, hw brake and hw slowdown: that "
        "is cooling or the power supply.",
        "none",
        *by_reason,
        colours=dict(zip(reasons, look.EIGHT, strict=False)),
        empty=NO_FIELD,
    )
    return sized(panel, 12)


def _violations() -> object:
    asked = []
    for nth, (what, names) in enumerate(VIOLATIONS.items()):
        rates = " or ".join(f"rate({name}{{{GPUS}}}[$__rate_interval])" for name in names)
        asked.append(
            prom(f"max by (Hostname) ({rates}) / 1e9", f"{{{{Hostname}}}} {what}", chr(ord("A") + nth))
        )
    panel = lines(
        "Share of time at a limit",
        "Of the GPU of each host that is held back most: the share of time in which power, heat or another "
        "limit kept its clock down. Power is usual under heavy work. Worry about heat and reliability.",
        "percentunit",
        *asked,
        colours={
            f"/ {what}$/": colour for what, colour in zip(VIOLATIONS, reversed(look.EIGHT[:6]), strict=False)
        },
        highest=1,
        empty=NO_FIELD,
    )
    return sized(panel, 12)


def _memory() -> tuple[object, ...]:
    used, free = (f"DCGM_FI_DEV_FB_{part}{{{GPUS}}} < {NO_MASK:.0f}" for part in ("USED", "FREE"))
    most = f"max by ({OF_PART})"
    made = (
        lines(
            "Device memory in use",
            "What programs and the driver have taken. Worry when it stays while nothing runs: a process was "
            "left behind.",
            "mbytes",
            prom(f"{most} ({used})", PART),
            colours=look.OF_GPU,
            empty=NO_EXPORTER,
        ),
        lines(
            "Share of device memory in use",
            "Taken over taken and free. Above 95 % (dashed) the next allocation may fail.",
            "percentunit",
            prom(f"{most} ({used}) / ({most} ({used}) + {most} ({free}))", PART),
            colours=look.OF_GPU,
            limit=((0.95, look.WORRY),),
            highest=1,
            empty=NO_EXPORTER,
        ),
        lines(
            "Over PCIe",
            "Bytes a second that each GPU sends and receives, with headers. Worry when it stays near what "
            "the link can do: the work waits for the host.",
            "Bps",
            prom(f"{dcgm('pcie_tx_b_s')} + {dcgm('pcie_rx_b_s')}", GPU),
            colours=look.OF_GPU,
            empty=NO_FIELD,
        ),
        lines(
            "Over NVLink",
            "Bytes a second that each GPU sends and receives over all its NVLinks. Worry when GPUs that "
            "work together differ.",
            "Bps",
            prom(f"{dcgm('nvlink_tx_b_s')} + {dcgm('nvlink_rx_b_s')}", GPU),
            colours=look.OF_GPU,
            empty=NO_FIELD,
        ),
    )
    return tuple(sized(panel, 6) for panel in made)


def _xid() -> object:
    worst = f"max by ({EACH}) (max_over_time(DCGM_FI_DEV_XID_ERRORS{{{GPUS}}}[$__range]) < 10000) > 0"
    options = {
        str(code): {"text": f"{code}: {what}", "index": nth} for nth, (code, what) in enumerate(XIDS.items())
    }
    panel = cells(
        "XID errors",
        "GPUs whose driver has told of an error, with its code; of several the one with the highest. Worry "
        "about each that is not the program's own doing: 48, 63, 64, 74, 79, 94, 95 are the GPU's, its "
        "memory's or its link's.",
        "none",
        prom_rows(worst),
        columns={"XID": [prop("mappings", [{"type": "value", "options": options}])]},
        by="Host",
        descending=False,
        empty="no XID error in this time range",
    )
    return sized(parts.renamed(panel, NAMES | {"Value": "XID"}), 10)


def _faults() -> object:
    asked = [
        prom_rows(f"max by (Hostname, gpu) ({name}{{{GPUS}}} < {NO_COUNT:g})", chr(ord("A") + nth))
        for nth, name in enumerate(FAULTS.values())
    ]
    red = [parts.steps((1, look.WORRY)), parts.COLOURED_TEXT]
    panel = cells(
        "Faults of memory and links",
        "Counted since the driver was loaded: memory errors that were corrected or not, memory rows that "
        "were replaced, packets that PCIe sent again. Worry about anything uncorrected, a failed remapping, "
        "and replays that grow.",
        "none",
        *asked,
        columns={
            "Uncorrected": red,
            "Rows remapped, uncorrected": red,
            "Remapping failed": red,
        },
        by="Uncorrected",
        empty=NO_FIELD,
    )
    names = {"Hostname": "Host", "gpu": "GPU"}
    names |= {f"Value #{chr(ord('A') + nth)}": title for nth, title in enumerate(FAULTS)}
    return sized(parts.renamed(panel, names, merged=True), 14)
