-- usable by: 10
-- Each search has its own index. `created_at >= 0` is true of every task, and only a statement that says so, too, may use
-- these three. Otherwise PostgreSQL takes them for a search by owner if its statistics are from before many tasks came, and
-- then each step of that search reads all of those tasks.
DROP INDEX tasks_start, tasks_due, tasks_work;
CREATE INDEX tasks_start ON tasks (start_by) WHERE state = 'queued' AND created_at >= 0;
CREATE INDEX tasks_due ON tasks (state, due_at)
  WHERE state IN ('fetching', 'completed', 'failed') AND due_at IS NOT NULL AND created_at >= 0;
CREATE INDEX tasks_work ON tasks (account, state, due_at)
  WHERE state IN ('held', 'running', 'storing') AND created_at >= 0;
