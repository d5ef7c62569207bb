//! What the other simulator gave over nodes, capacity and delay.
//!
//! Not here: how the lines are read, which `told` says.

pub(super) const SWEEPS: &str = "
10 nodes, c = 100 | counter | kB 72 over 4.4 state 525
10 nodes, c = 100 | queue+freq | kB 203 over 3.2 state 1761
10 nodes, c = 30 | counter | kB 57 over 1.0 state 404
10 nodes, c = 30 | queue+freq | kB 83 over 1.0 state 592
30 nodes, c = 300 | counter | kB 467 over 16.6 state 4753
30 nodes, c = 300 | queue+freq | kB 5480 over 6.6 state 10702
30 nodes, c = 90 | counter | kB 404 over 5.8 state 3874
30 nodes, c = 90 | queue+freq | kB 1650 over 4.6 state 4917
100 nodes, c = 1000 | counter | kB 6159 over 76 state 70206
100 nodes, c = 300 | counter | kB 5480 over 19 state 60594
300 nodes, c = 3000 | counter | kB 104690 over 241 state 750606
300 nodes, c = 900 | counter | kB 97633 over 79 state 666826
B-extreme, c = 90 | counter | area 96.9 kB 218
B-extreme, c = 90 | queue+freq+linf | area 99.2 kB 1930
B-substantial, c = 90 | counter | area 96.0 kB 410
B-substantial, c = 90 | queue+freq+linf | area 97.4 kB 1651
B-barely, c = 90 | counter | area 38.0 kB 821
B-barely, c = 90 | queue+freq+linf | area 86.0 kB 1742
B-extreme, c = 150 | counter | area 96.8 kB 220
B-extreme, c = 150 | queue+freq+linf | area 99.5 kB 3112
B-substantial, c = 150 | counter | area 96.5 kB 431
B-substantial, c = 150 | queue+freq+linf | area 98.6 kB 2677
B-barely, c = 150 | counter | area 37.0 kB 927
B-barely, c = 150 | queue+freq+linf | area 89.7 kB 2695
B-extreme, c = 300 | counter | area 96.7 kB 223
B-extreme, c = 300 | queue+freq+linf | area 99.6 kB 6989
B-substantial, c = 300 | counter | area 96.8 kB 490
B-substantial, c = 300 | queue+freq+linf | area 98.8 kB 5527
B-barely, c = 300 | counter | area 34.4 kB 1003
B-barely, c = 300 | queue+freq+linf | area 87.9 kB 5164
B-extreme, c = 900 | counter | area 96.7 kB 226
B-extreme, c = 900 | queue+freq+linf | area 99.9 kB 26254
B-substantial, c = 900 | counter | area 96.3 kB 478
B-substantial, c = 900 | queue+freq+linf | area 99.2 kB 18298
B-barely, c = 900 | counter | area 30.9 kB 1064
B-barely, c = 900 | queue+freq+linf | area 78.2 kB 15724
B-extreme, c = 3000 | counter | area 96.7 kB 247
B-substantial, c = 3000 | counter | area 96.8 kB 508
B-barely, c = 3000 | counter | area 36.0 kB 1086
B-extreme, 50 ms | counter | over 123 area 96.26
B-extreme, 50 ms | queue+freq | over 20.5 area 99.72
B-substantial, 50 ms | counter | over 18.6 area 96.02
B-substantial, 50 ms | queue+freq | over 9.5 area 99.03
B-barely, 50 ms | counter | over 6.1 total 53
B-barely, 50 ms | queue+freq | over 1.9 total 86
";
