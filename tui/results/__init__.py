"""The run store, projections of the journal, the run record, summaries and charts."""
