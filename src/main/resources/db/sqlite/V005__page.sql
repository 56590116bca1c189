-- In place of narrower ones, so that no write has more indexes to keep: they hold all that the newest ticks of a job, a page of its
-- history, its ticks by time and its last success are looked up by.
create index tick_by_slot on tick (job, slot_at desc, slot_key desc, outcome, range_count);
create index tick_by_end on tick (job, ended_at, slot_key, outcome) where ended_at is not null;
drop index tick_newest;
drop index tick_ended;

-- In which range a slot lies; ranges are few.
create index tick_range on tick (job, slot_at, range_first) where range_count is not null;

-- Effects of a slot; by their keys they are not found where the database sorts texts by a language.
create index effect_of_slot on effect (job, slot_key);

-- What was written under the lease of a run, for the page of its tick: without this the whole list of events is read.
create index write_event_of_run on write_event (run_id) where run_id is not null;
