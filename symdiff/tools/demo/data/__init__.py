"""The data set of the demonstration.

``iris.csv`` holds Fisher's iris measurements: four lengths in cm of 150 flowers of three
species, from R. A. Fisher, "The use of multiple measurements in taxonomic problems", Annals
of Eugenics 7 (1936), 179-188, table I. The copy in the UCI repository has two wrong rows, the
35th and the 38th; here they are as Fisher printed them, (4.9, 3.1, 1.5, 0.2) and
(4.9, 3.6, 1.4, 0.1), as in R and scikit-learn.
"""
