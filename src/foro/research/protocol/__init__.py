"""The paper's protocol: streams of tasks through methods, one resumable result file for each run."""
