"""Real HBase and a whole demonstration deployment, both on this machine in place of a cloud.

Tests, tools and commands import these names, and the scenario or the model that a test is about:

- `hbase.laboratory`: `small_of` and `laboratory`, a lab for one launch at a small scale, which yields a bench; with
  `scaled_plan.Small` and `miniature`, and `hbase.experiment.Experiment`
- `hbase.software`: `problems`, `set_up`, `software` and `remove`; `hbase.configuration.Java` for another program
- `hbase.run`: `RunRequest`, `RunFiles` and `run`
- `hbase.scenarios`: `SCENARIOS`, `question`, `scenarios_of` and `servers_of`
- `hbase.result.Run`, which a run writes and pages read; `hbase.report`, the words and charts of such pages
- `hbase.store`: `Settings`, `store` and `StoreCounters`; `hbase.recording`: `Recording` and `ReadHistory`
- `machine`: `memory` and `needs`; `machine.paths.LabPaths`; `machine.process`: `Command` and `start`
- `trino.run`: `TrinoRequest` and `run`; `differences.differences`; `demo.run_demo`
"""
