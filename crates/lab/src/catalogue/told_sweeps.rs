//! What the other simulator gave over nodes, capacity and delay.
//!
//! Not here: how the lines are read, which `told` says.

pub(super) const SWEEPS: &str = "
10 nodes, c = 100 | counter | kB 72 over 4.4 state 525
10 nodes, c = 100 | queue+freq | kB 203 over 3.2 state 1761
10 nodes, c = 100 | segments | kB 25 over 0 state 237
10 nodes, c = 30 | counter | kB 57 over 1.0 state 404
10 nodes, c = 30 | queue+freq | kB 83 over 1.0 state 592
10 nodes, c = 30 | segments | kB 16 over 0 state 226
30 nodes, c = 300 | counter | kB 467 over 16.6 state 4753
30 nodes, c = 300 | queue+freq | kB 5480 over 6.6 state 10702
30 nodes, c = 300 | segments | kB 199 over 0 state 594
30 nodes, c = 300 | home | kB 75 over 0 messages 1107 state 181 busiest 33.9
30 nodes, c = 90 | counter | kB 404 over 5.8 state 3874
30 nodes, c = 90 | queue+freq | kB 1650 over 4.6 state 4917
30 nodes, c = 90 | segments | kB 141 over 0 state 608
100 nodes, c = 1000 | counter | kB 6159 over 76 state 70206
100 nodes, c = 1000 | segments | kB 2289 over 0 state 1952
100 nodes, c = 1000 | home | kB 466 over 0 messages 6887 state 230 busiest 135
100 nodes, c = 300 | counter | kB 5480 over 19 state 60594
100 nodes, c = 300 | segments | kB 1548 over 0 state 1943
300 nodes, c = 3000 | counter | kB 104690 over 241 state 750606
300 nodes, c = 3000 | segments | kB 22778 over 0 state 5973
300 nodes, c = 3000 | home | kB 3005 over 0 messages 45106 state 332 busiest 379
300 nodes, c = 900 | counter | kB 97633 over 79 state 666826
300 nodes, c = 900 | segments | kB 14078 over 0 state 5804
1000 nodes, c = 10000 | segments | kB 253706 messages 3650870 state 20945 busiest 1147
1000 nodes, c = 10000 | home | kB 29758 over 0 messages 455786 state 691 busiest 1200
1000 nodes, c = 10000 | home tree 4 | kB 30678 over 0 messages 456639 state 691 busiest 923
1000 nodes, c = 10000 | home tree 16 | kB 30678 over 0 messages 456639 state 691 busiest 929
B-extreme, c = 90 | counter | area 96.9 kB 218
B-extreme, c = 90 | queue+freq+linf | area 99.2 kB 1930
B-extreme, c = 90 | segments | area 100 kB 139
B-substantial, c = 90 | counter | area 96.0 kB 410
B-substantial, c = 90 | queue+freq+linf | area 97.4 kB 1651
B-substantial, c = 90 | segments | area 100 kB 140
B-barely, c = 90 | counter | area 38.0 kB 821
B-barely, c = 90 | queue+freq+linf | area 86.0 kB 1742
B-barely, c = 90 | segments | area 100 kB 132
B-extreme, c = 150 | counter | area 96.8 kB 220
B-extreme, c = 150 | queue+freq+linf | area 99.5 kB 3112
B-extreme, c = 150 | segments | area 100 kB 162
B-substantial, c = 150 | counter | area 96.5 kB 431
B-substantial, c = 150 | queue+freq+linf | area 98.6 kB 2677
B-substantial, c = 150 | segments | area 100 kB 161
B-barely, c = 150 | counter | area 37.0 kB 927
B-barely, c = 150 | queue+freq+linf | area 89.7 kB 2695
B-barely, c = 150 | segments | area 100 kB 148
B-extreme, c = 300 | counter | area 96.7 kB 223
B-extreme, c = 300 | queue+freq+linf | area 99.6 kB 6989
B-extreme, c = 300 | segments | area 100 kB 202
B-substantial, c = 300 | counter | area 96.8 kB 490
B-substantial, c = 300 | queue+freq+linf | area 98.8 kB 5527
B-substantial, c = 300 | segments | area 100 kB 197
B-barely, c = 300 | counter | area 34.4 kB 1003
B-barely, c = 300 | queue+freq+linf | area 87.9 kB 5164
B-barely, c = 300 | segments | area 100 kB 187
B-extreme, c = 900 | counter | area 96.7 kB 226
B-extreme, c = 900 | queue+freq+linf | area 99.9 kB 26254
B-extreme, c = 900 | segments | area 100 kB 300
B-substantial, c = 900 | counter | area 96.3 kB 478
B-substantial, c = 900 | queue+freq+linf | area 99.2 kB 18298
B-substantial, c = 900 | segments | area 100 kB 281
B-barely, c = 900 | counter | area 30.9 kB 1064
B-barely, c = 900 | queue+freq+linf | area 78.2 kB 15724
B-barely, c = 900 | segments | area 100 kB 265
B-extreme, c = 3000 | counter | area 96.7 kB 247
B-extreme, c = 3000 | segments | area 100 kB 615
B-substantial, c = 3000 | counter | area 96.8 kB 508
B-substantial, c = 3000 | segments | area 100 kB 500
B-barely, c = 3000 | counter | area 36.0 kB 1086
B-barely, c = 3000 | segments | area 100 kB 305
B-extreme, 5 ms | segments | over 1.9 kB 205
B-extreme, 5 ms | home k = 0 | over 3.1 kB 123
B-extreme, 5 ms | home | over 2.2 kB 72
B-extreme, 5 ms | home k auto | over 2.1 kB 77
B-extreme, 20 ms | segments | over 4.5 kB 206
B-extreme, 20 ms | home k = 0 | over 7.1 kB 80
B-extreme, 20 ms | home | over 5.7 kB 69
B-extreme, 20 ms | home k auto | over 4.9 kB 87
B-extreme, 50 ms | counter | over 123 area 96.26
B-extreme, 50 ms | queue+freq | over 20.5 area 99.72
B-extreme, 50 ms | segments | over 9.5 kB 197
B-extreme, 50 ms | home k = 0 | over 15.6 kB 57
B-extreme, 50 ms | home | over 14.6 kB 59
B-extreme, 50 ms | home k auto | over 13.2 kB 94
B-extreme, 100 ms | segments | over 20.5 kB 188
B-extreme, 100 ms | home k = 0 | over 32.3 kB 53
B-extreme, 100 ms | home | over 32.1 kB 55
B-extreme, 100 ms | home k auto | over 29.3 kB 134
B-extreme, 200 ms | segments | over 40.6 kB 192
B-extreme, 200 ms | home k = 0 | over 70.7 kB 59
B-extreme, 200 ms | home | over 70.4 kB 60
B-extreme, 200 ms | home k auto | over 67.1 kB 159
B-substantial, 5 ms | segments | over 0.8
B-substantial, 5 ms | home | over 0.8
B-substantial, 5 ms | home k auto | over 0.8
B-substantial, 20 ms | segments | over 1.5
B-substantial, 20 ms | home | over 1.6
B-substantial, 20 ms | home k auto | over 1.6
B-substantial, 50 ms | counter | over 18.6 area 96.02
B-substantial, 50 ms | queue+freq | over 9.5 area 99.03
B-substantial, 50 ms | segments | over 2.8
B-substantial, 50 ms | home | over 3.0
B-substantial, 50 ms | home k auto | over 3.0
B-substantial, 100 ms | segments | over 4.1
B-substantial, 100 ms | home | over 4.7
B-substantial, 100 ms | home k auto | over 4.4
B-substantial, 200 ms | segments | over 6.5
B-substantial, 200 ms | home | over 7.1
B-substantial, 200 ms | home k auto | over 6.5
B-barely, 5 ms | segments | total 99.4
B-barely, 5 ms | home | total 99.4
B-barely, 5 ms | home k auto | total 99.4
B-barely, 20 ms | segments | total 98.7
B-barely, 20 ms | home | total 98.1
B-barely, 20 ms | home k auto | total 98.1
B-barely, 50 ms | counter | over 6.1 total 53
B-barely, 50 ms | queue+freq | over 1.9 total 86
B-barely, 50 ms | segments | total 95.5
B-barely, 50 ms | home | total 93.6
B-barely, 50 ms | home k auto | total 95.5
B-barely, 100 ms | segments | total 92.3
B-barely, 100 ms | home | total 84.6
B-barely, 100 ms | home k auto | total 91.7
B-barely, 200 ms | segments | total 85.3
B-barely, 200 ms | home | total 77.6
B-barely, 200 ms | home k auto | total 85.3
";
