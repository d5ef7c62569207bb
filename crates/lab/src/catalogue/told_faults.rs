//! What the other simulator gave under faults, every message taking 5 ms.
//!
//! Not here: how the lines are read, which `told` says.

pub(super) const FAULTS: &str = "
B-extreme, none | counter | total 98.5 kB 220
B-extreme, none | queue+freq | total 99.8 kB 7354
B-substantial, none | counter | total 99.0 kB 468
B-substantial, none | queue+freq | total 99.5 kB 5496
B-barely, none | counter | total 58.1 kB 990
B-barely, none | queue+freq | total 89.7 kB 5131
B-extreme, 5 % loss | counter | total 98.4 kB 221
B-extreme, 5 % loss | queue+freq | total 99.8 kB 7567
B-substantial, 5 % loss | counter | total 98.9 kB 470
B-substantial, 5 % loss | queue+freq | total 99.4 kB 5527
B-barely, 5 % loss | counter | total 56.1 kB 991
B-barely, 5 % loss | queue+freq | total 84.6 kB 5163
B-extreme, 20 % loss | counter | total 98.0 kB 228
B-extreme, 20 % loss | queue+freq | total 99.8 kB 7470
B-substantial, 20 % loss | counter | total 98.3 kB 469
B-substantial, 20 % loss | queue+freq | total 99.4 kB 5651
B-barely, 20 % loss | counter | total 48.5 kB 991
B-barely, 20 % loss | queue+freq | total 87.2 kB 5209
B-extreme, 50 % loss | counter | total 96.6 kB 266
B-extreme, 50 % loss | queue+freq | total 99.7 kB 8486
B-substantial, 50 % loss | counter | total 96.0 kB 486
B-substantial, 50 % loss | queue+freq | total 99.2 kB 6433
B-barely, 50 % loss | counter | total 26.9 kB 994
B-barely, 50 % loss | queue+freq | total 76.9 kB 5541
B-extreme, 20 % twice, 40 ms reordering | counter | total 98.4 kB 221
B-extreme, 20 % twice, 40 ms reordering | queue+freq | total 99.7 kB 7507
B-substantial, 20 % twice, 40 ms reordering | counter | total 98.8 kB 470
B-substantial, 20 % twice, 40 ms reordering | queue+freq | total 99.5 kB 5511
B-barely, 20 % twice, 40 ms reordering | counter | total 54.2 kB 993
B-barely, 20 % twice, 40 ms reordering | queue+freq | total 84.6 kB 5166
B-extreme, clocks off by 50 ms | counter | total 98.5 kB 218
B-extreme, clocks off by 50 ms | queue+freq | total 99.9 kB 167046
B-substantial, clocks off by 50 ms | counter | total 99.0 kB 468
B-substantial, clocks off by 50 ms | queue+freq | total 99.4 kB 174776
B-barely, clocks off by 50 ms | counter | total 59.6 kB 991
B-barely, clocks off by 50 ms | queue+freq | total 105.1 kB 157244
B-extreme, one crash | counter | total 98.3 kB 302
B-extreme, one crash | queue+freq | total 98.0 kB 8973
B-substantial, one crash | counter | total 98.9 kB 471
B-substantial, one crash | queue+freq | total 98.4 kB 5698
B-barely, one crash | counter | total 57.3 kB 990
B-barely, one crash | queue+freq | total 87.2 kB 5166
B-extreme, five crashes | counter | total 98.0 kB 375
B-extreme, five crashes | queue+freq | total 95.6 kB 11444
B-substantial, five crashes | counter | total 98.3 kB 486
B-substantial, five crashes | queue+freq | total 91.4 kB 6488
B-barely, five crashes | counter | total 55.0 kB 991
B-barely, five crashes | queue+freq | total 76.9 kB 5261
B-extreme, half on one node | counter | total 98.9 kB 214
B-extreme, half on one node | queue+freq | total 99.7 kB 5994
B-substantial, half on one node | counter | total 99.4 kB 501
B-substantial, half on one node | queue+freq | total 99.2 kB 5095
B-barely, half on one node | counter | total 67.3 kB 937
B-barely, half on one node | queue+freq | total 87.2 kB 4937
B-extreme, all together | counter | total 98.1 kB 310
B-extreme, all together | queue+freq | total 99.3 kB 175934
B-substantial, all together | counter | total 98.7 kB 473
B-substantial, all together | queue+freq | total 98.4 kB 161689
B-barely, all together | counter | total 52.7 kB 994
B-barely, all together | queue+freq | total 102.6 kB 148816
";
