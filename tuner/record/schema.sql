-- The record's tables. One study's winner and one sample are a join away from everything else: the views spell the
-- joins out. A variant's samples are in its row, because a row of its own for each takes several times as long to store
-- as all the rest. SCHEMA_VERSION in record_open.c is to be raised whenever the tables change.

CREATE TABLE study (
    id INTEGER PRIMARY KEY,
    kernel TEXT NOT NULL,
    problem TEXT NOT NULL,  -- JSON object, as are parameters and gpu_details
    gpu TEXT NOT NULL,
    arch TEXT NOT NULL,
    mode TEXT NOT NULL CHECK (mode IN ('measured', 'static')),
    cache TEXT NOT NULL,  -- cold or warm
    template TEXT NOT NULL,
    template_hash TEXT NOT NULL,
    data_hash TEXT NOT NULL,  -- of the files that the template reads data from; '': none
    description TEXT,
    driver TEXT NOT NULL,
    nvrtc TEXT NOT NULL,
    tool TEXT NOT NULL,  -- '', or the tool whose results were imported
    autotune TEXT NOT NULL,
    host TEXT NOT NULL,
    date TEXT NOT NULL,  -- start of the run, UTC
    command TEXT,
    gpu_details TEXT NOT NULL,
    points INTEGER NOT NULL,  -- of the Cartesian space
    rejected INTEGER NOT NULL,  -- by constraints, before compilation
    rejected_estimated INTEGER NOT NULL DEFAULT 0,  -- the space is too large to count them
    empty_kernel_ns REAL NOT NULL,
    empty_batch_ns REAL NOT NULL DEFAULT 0,  -- in batches; 0: there were none
    dropped_samples INTEGER,  -- taken under throttling, and then again
    throttled_samples INTEGER,  -- kept though throttled
    sm_clock_mhz REAL,  -- mean while sampling; NULL without NVML, as are those around
    other_processes INTEGER,  -- on the GPU, the most at once
    complete INTEGER NOT NULL,
    winner INTEGER REFERENCES variant (id),
    gpus TEXT,  -- if several measured it: a JSON array
    one_data_set INTEGER NOT NULL DEFAULT 0,  -- no other could be drawn to verify on
    refusal TEXT,  -- why the latest run left it out
    turn INTEGER NOT NULL DEFAULT 0);  -- the higher, the later it was tuned or imported

CREATE INDEX study_subject ON study (kernel, gpu, problem);

CREATE TABLE variant (
    id INTEGER PRIMARY KEY,
    study INTEGER NOT NULL REFERENCES study (id) ON DELETE CASCADE,
    parameters TEXT NOT NULL,
    outcome TEXT NOT NULL,
    reason TEXT,
    decided_by TEXT,  -- the constraint that the outcome is of; NULL: of none
    limit_s REAL,  -- that it missed; NULL: its outcome is final
    limit_mb INTEGER,  -- that its compiler exceeded, perhaps; NULL: as above
    phase TEXT NOT NULL,  -- of the times: screening or finals
    gpu TEXT NOT NULL,  -- the UUID of the one that took them; '': none
    screening_gpu TEXT NOT NULL,  -- of the one that took the samples of the screening
    median_ns REAL, low_ns REAL, high_ns REAL, minimum_ns REAL, relative_iqr REAL,
    samples INTEGER NOT NULL,
    runs INTEGER NOT NULL,  -- of which each sample is the mean: 1, or of a batch
    bytes REAL NOT NULL, operations REAL NOT NULL,
    registers INTEGER, spill_bytes INTEGER, stack_bytes INTEGER,
    static_shared_bytes INTEGER, dynamic_shared_bytes INTEGER,
    block_threads INTEGER, grid_blocks INTEGER,
    blocks_per_sm INTEGER, occupancy REAL, limiters INTEGER,
    other_launches TEXT,  -- registers and occupancy of the launches but the main one
    finalist INTEGER NOT NULL, tied INTEGER NOT NULL,
    run_hash TEXT NOT NULL,  -- of its machine code and launches; '': not known
    seen_s REAL,  -- when its outcome was known, in seconds of tuning the problem
    turn INTEGER NOT NULL,  -- of the study, when the outcome was stored
    judged INTEGER NOT NULL,  -- the study's verdict, if there is one, is on this variant, too
    screening_ns TEXT,  -- the samples: JSON arrays, in the order taken
    finals_ns TEXT,
    UNIQUE (study, parameters));

CREATE VIEW sample AS
    SELECT variant.id AS variant, 'screening' AS phase, series.key AS number, series.value AS ns
    FROM variant, json_each(variant.screening_ns) AS series
    UNION ALL SELECT variant.id, 'finals', series.key, series.value
    FROM variant, json_each(variant.finals_ns) AS series;

CREATE VIEW best AS
    SELECT study.kernel, study.problem, study.gpu, study.cache, variant.parameters,
    variant.median_ns / 1000 AS median_us, variant.low_ns / 1000 AS low_us,
    variant.high_ns / 1000 AS high_us, variant.bytes / variant.median_ns AS gb_per_s,
    variant.operations / variant.median_ns AS gflop_per_s, variant.registers,
    variant.blocks_per_sm, variant.occupancy, study.date, study.id AS study
    FROM study JOIN variant ON variant.id = study.winner;

CREATE VIEW measurement AS
    SELECT variant.study, study.kernel, study.problem, study.gpu, sample.variant,
    variant.parameters, sample.phase, sample.number, sample.ns,
    CASE sample.phase WHEN 'screening' THEN variant.screening_gpu ELSE variant.gpu END AS uuid
    FROM sample JOIN variant ON variant.id = sample.variant
    JOIN study ON study.id = variant.study;
