-- What was written under the lease of a run, for the page of its tick: without this the whole list of events is read.
create index write_event_of_run on write_event (run_id) where run_id is not null;
