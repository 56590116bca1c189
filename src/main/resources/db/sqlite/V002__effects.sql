-- Instants are milliseconds since 1970 UTC.
alter table write_event add column effect text;
alter table write_event add column newest_fence integer;

-- Things to be done outside, announced with the completion that causes them. settled_at is null while the state is open: PENDING,
-- SENDING, UNKNOWN. pair is the resource of the lease that a sender holds. sender_run_id and sender_fence are of the last one that began
-- to send. next_at: when to go on with it by itself; null for never. written_at: the last change of the row, so that a clock that was
-- set back is seen.
create table effect (
    id             integer     primary key autoincrement,
    key            text        not null unique,
    job            text        not null,
    slot_key       text        not null,
    name           text        not null,
    sink           text        not null,
    resource       text        not null,
    pair           text        not null,
    fence          integer     not null,
    run_id         text        not null,
    content_type   text,
    target         text,
    digest         text        not null,
    announced_at   integer     not null,
    expires_at     integer     not null,
    max_age_ms     integer     not null,
    state          text        not null,
    tries          integer     not null default 0,
    checks         integer     not null default 0,
    may_be_sent    integer     not null default 0,
    override_fence integer     not null default 0,
    waits          integer     not null default 0,
    sender_run_id  text,
    sender_fence   integer,
    last_sent_at   integer,
    next_at        integer,
    changed_at     integer     not null,
    written_at     integer     not null,
    receipt        text,
    reason         text,
    settled_at     integer,
    size           integer     not null,
    content        blob        not null
);
-- Whose turn it is in a pair, and which pairs there are.
create index effect_open on effect (pair, fence, id) where settled_at is null;
create index effect_pending on effect (expires_at) where state = 'PENDING';
-- Holds all that the counting of them needs.
create index effect_counted on effect (sink, state, announced_at, waits, expires_at) where settled_at is null or waits;
create index effect_job on effect (job, id);

-- The highest token that was sent to a sink for a resource; never deleted. Between delay_from and delay_until nothing that is PENDING is
-- sent: what a dead sender sent may still be on its way.
create table sink_fence (
    pair           text        primary key,
    sink           text        not null,
    resource       text        not null,
    fence          integer     not null,
    run_id         text        not null,
    delay_from     integer,
    delay_until    integer
);
