-- Each process goes round the queues by itself.
DROP TABLE turns;
