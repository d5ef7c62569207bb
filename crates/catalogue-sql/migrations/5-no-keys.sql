-- The keys of sessions and links stood here, where whoever reads the database reads them. They are in a file now.
DROP TABLE catalogue_setting;
