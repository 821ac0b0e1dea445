-- usable by: 3
-- By owner first: a claim steps over an owner at once, however many of its tasks wait.
CREATE INDEX tasks_fetching ON tasks (owner, due_at) WHERE state = 'fetching';
CREATE INDEX tasks_storing ON tasks (account, owner, due_at) WHERE state = 'storing';
