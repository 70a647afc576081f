"""The protocol of experiments: streams of tasks through methods, one resumable result file for each run."""
