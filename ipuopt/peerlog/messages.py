"""Messages of the public compiler that are known: those of the five logs and of its source.

The tables name the messages that they read; those here only tell a log of that compiler from others.
"""

from __future__ import annotations

FINISHED_STAGE = "package build phase finished"
LOWERED_GRAPH = "lowered graph for package construction"
GEMM_CANDIDATES = "retained parallel GEMM candidates"
PLANNING_BEAM = "retained planning beam"
RETAINED = "retained operator-plan finalist"
SELECTED_ANALYTICAL = "selected analytical operator plan"
SELECTED_OPERATION = "selected mid-level operation"
MODELLED = "modelled expanded operator plan"
SCREENED_MAPPINGS = "screened tile mappings by exchange resource load"
SCHEDULED = "scheduled operator-plan finalist"
SELECTED = "selected physically scheduled operator-plan finalist"
PLANNER_PROFILE = "wrote planner memory profile"
INCUMBENT = "validated search incumbent"
SAVED_STATE = "saved mid-plan search state"
KEPT_MAPPING = "retained incumbent tile mapping"
SCREENED_ROUND = "screened local search round"
EVALUATING = "evaluating ordered local candidates concurrently"
ACCEPTED = "accepted local layout improvement"
COMPARED = "compared ordinary and paired exchange schedules"
PREPARED = "prepared large physical exchange phase"
OPTIMIZED = "optimized physical exchange schedule"
FINISHED_PHASE = "finished large physical exchange phase"
REUSED = "reused exchange optimization after validating relocated rows"
PADDING_CLEARS = "eliminated unread FP8 cast input padding clears"
TABLE_GEOMETRY = "screened exchange table geometry"
TABLE_STORAGE = "exchange table and repeat patch storage"
PLACED_STORAGE = "placed tile storage"
PLACING_PROGRAMS = "placing generated tile programs"
SUPPORT_MEMORY = "allocated package support memory"
COSTED = "costed final placed program"
COMPILING_KERNEL = "compiling kernel"
KERNEL_CREATED = "kernel artifact created"
WRITING_PACKAGE = "writing application package"
PACKAGE_WRITTEN = "application package written"
READING_PACKAGE = "reading application package"
PACKAGE_READ = "application package read"
REPLAYING = "replaying device configuration"
LOADING = "loading application"
LOADED = "application loaded and initial synchronization completed"
REFERENCE_INPUTS = "prepared reference inputs"
REFERENCE_BLAS = "configured host reference BLAS"
REFERENCE_DONE = "evaluated host reference"
STARTING_HOST = "starting host exchange session"
ATTACHING_PAGES = "attaching host exchange pages"
STREAMING_CALL = "invoking streaming host exchange call"
CALL = "invoking host exchange call"

_OTHERS = frozenset(
    {
        "retained operator-plan details",
        "assigned parameter storage group to tiles",
        "scheduled exchange phase",
        "prepared parallel GEMM partials",
        "materialized packed parallel reduction",
        "lowered mid operation to tile work",
        "consolidated independent exchange transfers",
        "built logical tile schedule",
        "waiting for hardware ownership",
        "acquired hardware ownership",
        "opening IPU device",
        "IPU device attached",
        "initializing IPU device",
        "IPU device initialized",
        "host exchange session started",
        "compared repeat-safe exchange schedule with first-iteration-only baseline",
        "exchange scheduler diagnostics",
        "no paired transfer contributes to the ordinary schedule's critical path",
        "no individual paired transfer shortens the exchange critical path",
        "selected exchange width per transfer",
        "retrying exchange schedule with incremental instruction-alignment validation",
        "failed to prepare logical exchange transfer",
        "deferred fused-operator materialization",
        "deferred low-level conversion",
        "failed to lower mid operation to tile work",
        "cannot unpack source storage into row-major order",
        "cannot defer fused output because its consumer contract is not exclusive",
        "selected deferred-output storage",
        "selected split-head exchange strategy",
        "lowering split transform as physical micro-panel exchange",
        "deferred logical fragment cannot be exchanged directly",
        "selected logical conversion materialization",
        "rejected planning branch for memory",
        "retained constrained GEMM past conservative memory estimate",
        "costed operator plan",
        "applied GEMM plan constraint",
        "recorded diagnostic tensor",
        "tile allocation does not fit",
        "tensor view falls outside its storage shard",
        "host exchange call completed",
        "discarded captured HSP protocol writes",
        "submitting application tile batch",
        "installing secondary bootloader",
        "using cached kernel artifact",
        "linking tile image",
        "retained reachable sections",
        "resolved linked symbols",
        "tile image linked",
        "assembled point-to-point exchange",
        "assembled multicast exchange",
        "encoded incoming controls differ from the phase schedule",
        "device timed out; resetting and retrying once",
        "operator result has no materialized canonical storage; skipping readback",
        "diagnostic run failed",
        "exchange replay failed",
    }
)
_PROBE = (
    "PE capacity probe: RoPE omitted; layernorm epsilon remains 1e-6 instead of PE's 1e-5; "
    "numerical results are not PE model accuracy"
)

_NAMED = {value for name, value in list(vars().items()) if name.isupper() and name[0] != "_"}
KNOWN = _OTHERS | _NAMED | {_PROBE}
"""Every known message."""
