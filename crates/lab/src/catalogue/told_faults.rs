//! What the other simulator gave under faults, every message taking 5 ms.
//!
//! Not here: how the lines are read, which `told` says.

pub(super) const FAULTS: &str = "
B-extreme, none | counter | total 98.5 kB 220
B-extreme, none | queue+freq | total 99.8 kB 7354
B-extreme, none | segments | total 99.99 over 1.9 kB 205
B-extreme, none | home | total 99.99 over 2.2 kB 72
B-substantial, none | counter | total 99.0 kB 468
B-substantial, none | queue+freq | total 99.5 kB 5496
B-substantial, none | segments | total 99.97 over 0.8 kB 203
B-substantial, none | home | total 99.97 over 0.8 kB 77
B-barely, none | counter | total 58.1 kB 990
B-barely, none | queue+freq | total 89.7 kB 5131
B-barely, none | segments | total 99.4 kB 186
B-barely, none | home | total 99.4 kB 70
B-extreme, 5 % loss | counter | total 98.4 kB 221
B-extreme, 5 % loss | queue+freq | total 99.8 kB 7567
B-extreme, 5 % loss | segments | total 99.99 over 6.6 kB 227
B-extreme, 5 % loss | home | total 99.97 over 4.1 kB 82
B-substantial, 5 % loss | counter | total 98.9 kB 470
B-substantial, 5 % loss | queue+freq | total 99.4 kB 5527
B-substantial, 5 % loss | segments | total 99.84 over 1.8 kB 247
B-substantial, 5 % loss | home | total 99.82 over 2.3 kB 87
B-barely, 5 % loss | counter | total 56.1 kB 991
B-barely, 5 % loss | queue+freq | total 84.6 kB 5163
B-barely, 5 % loss | segments | total 93.6 kB 232
B-barely, 5 % loss | home | total 94.9 kB 73
B-extreme, 20 % loss | counter | total 98.0 kB 228
B-extreme, 20 % loss | queue+freq | total 99.8 kB 7470
B-extreme, 20 % loss | segments | total 99.85 over 24 kB 227
B-extreme, 20 % loss | home | total 99.89 over 20 kB 75
B-substantial, 20 % loss | counter | total 98.3 kB 469
B-substantial, 20 % loss | queue+freq | total 99.4 kB 5651
B-substantial, 20 % loss | segments | total 99.66 over 5.3 kB 294
B-substantial, 20 % loss | home | total 99.59 over 7.0 kB 97
B-barely, 20 % loss | counter | total 48.5 kB 991
B-barely, 20 % loss | queue+freq | total 87.2 kB 5209
B-barely, 20 % loss | segments | total 87.2 kB 290
B-barely, 20 % loss | home | total 73.7 kB 78
B-extreme, 50 % loss | counter | total 96.6 kB 266
B-extreme, 50 % loss | queue+freq | total 99.7 kB 8486
B-extreme, 50 % loss | segments | total 98.50 over 102 kB 282
B-extreme, 50 % loss | home | total 99.00 over 78 kB 77
B-substantial, 50 % loss | counter | total 96.0 kB 486
B-substantial, 50 % loss | queue+freq | total 99.2 kB 6433
B-substantial, 50 % loss | segments | total 96.5 over 31 kB 300
B-substantial, 50 % loss | home | total 94.3 over 47 kB 88
B-barely, 50 % loss | counter | total 26.9 kB 994
B-barely, 50 % loss | queue+freq | total 76.9 kB 5541
B-barely, 50 % loss | segments | total 34.6 kB 326
B-barely, 50 % loss | home | total 0 kB 61
B-extreme, 20 % twice, 40 ms reordering | counter | total 98.4 kB 221
B-extreme, 20 % twice, 40 ms reordering | queue+freq | total 99.7 kB 7507
B-extreme, 20 % twice, 40 ms reordering | segments | total 99.97 over 4.3 kB 206
B-extreme, 20 % twice, 40 ms reordering | home | total 99.97 over 6.1 kB 72
B-substantial, 20 % twice, 40 ms reordering | counter | total 98.8 kB 470
B-substantial, 20 % twice, 40 ms reordering | queue+freq | total 99.5 kB 5511
B-substantial, 20 % twice, 40 ms reordering | segments | total 99.94 over 1.6 kB 205
B-substantial, 20 % twice, 40 ms reordering | home | total 99.95 over 1.5 kB 80
B-barely, 20 % twice, 40 ms reordering | counter | total 54.2 kB 993
B-barely, 20 % twice, 40 ms reordering | queue+freq | total 84.6 kB 5166
B-barely, 20 % twice, 40 ms reordering | segments | total 98.7 kB 192
B-barely, 20 % twice, 40 ms reordering | home | total 97.4 kB 71
B-extreme, clocks off by 50 ms | counter | total 98.5 kB 218
B-extreme, clocks off by 50 ms | queue+freq | total 99.9 kB 167046
B-extreme, clocks off by 50 ms | segments | total 99.99 over 2.3 kB 206
B-extreme, clocks off by 50 ms | home | total 99.99 over 2.6 kB 74
B-substantial, clocks off by 50 ms | counter | total 99.0 kB 468
B-substantial, clocks off by 50 ms | queue+freq | total 99.4 kB 174776
B-substantial, clocks off by 50 ms | segments | total 99.96 over 1.3 kB 203
B-substantial, clocks off by 50 ms | home | total 99.96 over 1.3 kB 77
B-barely, clocks off by 50 ms | counter | total 59.6 kB 991
B-barely, clocks off by 50 ms | queue+freq | total 105.1 kB 157244
B-barely, clocks off by 50 ms | segments | total 99.4 kB 186
B-barely, clocks off by 50 ms | home | total 99.4 kB 70
B-extreme, one crash | counter | total 98.3 kB 302
B-extreme, one crash | queue+freq | total 98.0 kB 8973
B-extreme, one crash | segments | total 99.99 over 1.9 kB 206
B-extreme, one crash | home | total 99.99 over 2.2 kB 81
B-substantial, one crash | counter | total 98.9 kB 471
B-substantial, one crash | queue+freq | total 98.4 kB 5698
B-substantial, one crash | segments | total 99.97 over 0.8 kB 204
B-substantial, one crash | home | total 99.97 over 0.8 kB 81
B-barely, one crash | counter | total 57.3 kB 990
B-barely, one crash | queue+freq | total 87.2 kB 5166
B-barely, one crash | segments | total 98.7 kB 186
B-barely, one crash | home | total 98.7 kB 71
B-extreme, five crashes | counter | total 98.0 kB 375
B-extreme, five crashes | queue+freq | total 95.6 kB 11444
B-extreme, five crashes | segments | total 99.99 over 1.9 kB 211
B-extreme, five crashes | home | total 99.99 over 2.0 kB 99
B-substantial, five crashes | counter | total 98.3 kB 486
B-substantial, five crashes | queue+freq | total 91.4 kB 6488
B-substantial, five crashes | segments | total 99.97 over 0.8 kB 208
B-substantial, five crashes | home | total 99.96 over 0.8 kB 89
B-barely, five crashes | counter | total 55.0 kB 991
B-barely, five crashes | queue+freq | total 76.9 kB 5261
B-barely, five crashes | segments | total 99.4 kB 191
B-barely, five crashes | home | total 99.4 kB 78
B-extreme, home loses its memory | segments | total 99.99 over 1.9 kB 206
B-extreme, home loses its memory | home | total 99.99 over 2.2 kB 84
B-substantial, home loses its memory | segments | total 99.97 over 0.8 kB 204
B-substantial, home loses its memory | home | total 99.97 over 0.8 kB 86
B-barely, home loses its memory | segments | total 98.1 kB 186
B-barely, home loses its memory | home | total 98.1 kB 76
B-extreme, home down 20 s | segments | total 99.99 over 1.9 kB 206
B-extreme, home down 20 s | home | total 99.99 over 2.2 kB 98
B-substantial, home down 20 s | segments | total 99.97 over 0.8 kB 204
B-substantial, home down 20 s | home | total 99.97 over 1.1 kB 95
B-barely, home down 20 s | segments | total 99.4 kB 187
B-barely, home down 20 s | home | total 99.4 kB 80
B-extreme, home and standby down 20 s | segments | total 99.99 over 2.0 kB 207
B-extreme, home and standby down 20 s | home | total 99.99 over 2.3 kB 115
B-substantial, home and standby down 20 s | segments | total 99.97 over 0.8 kB 205
B-substantial, home and standby down 20 s | home | total 99.97 over 1.1 kB 113
B-barely, home and standby down 20 s | segments | total 95.5 kB 189
B-barely, home and standby down 20 s | home | total 99.4 kB 100
B-extreme, home dies at exhaustion | segments | total 99.97 over 2.9 kB 207
B-extreme, home dies at exhaustion | home | total 99.98 over 7.8 kB 81
B-substantial, home dies at exhaustion | segments | total 99.87 over 1.3 kB 205
B-substantial, home dies at exhaustion | home | total 99.66 over 2.8 kB 93
B-barely, home dies at exhaustion | segments | total 98.7 kB 186
B-barely, home dies at exhaustion | home | total 91.7 kB 84
B-extreme, half on one node | counter | total 98.9 kB 214
B-extreme, half on one node | queue+freq | total 99.7 kB 5994
B-extreme, half on one node | segments | total 99.99 over 1.7 kB 242
B-extreme, half on one node | home | total 99.99 over 2.0 kB 71
B-substantial, half on one node | counter | total 99.4 kB 501
B-substantial, half on one node | queue+freq | total 99.2 kB 5095
B-substantial, half on one node | segments | total 99.97 over 0.8 kB 238
B-substantial, half on one node | home | total 99.97 over 0.9 kB 75
B-barely, half on one node | counter | total 67.3 kB 937
B-barely, half on one node | queue+freq | total 87.2 kB 4937
B-barely, half on one node | segments | total 100 kB 223
B-barely, half on one node | home | total 99.4 kB 67
B-extreme, all together | counter | total 98.1 kB 310
B-extreme, all together | queue+freq | total 99.3 kB 175934
B-extreme, all together | segments | total 99.98 over 9.1 kB 221
B-extreme, all together | home | total 99.97 over 9.6 kB 80
B-substantial, all together | counter | total 98.7 kB 473
B-substantial, all together | queue+freq | total 98.4 kB 161689
B-substantial, all together | segments | total 99.86 over 2.5 kB 253
B-substantial, all together | home | total 99.75 over 2.5 kB 98
B-barely, all together | counter | total 52.7 kB 994
B-barely, all together | queue+freq | total 102.6 kB 148816
B-barely, all together | segments | total 85.9 kB 240
B-barely, all together | home | total 89.7 kB 74
";
