-- By owner first: an owner who has a hundred thousand of them waiting is one step for a claim that looks for the others.
CREATE INDEX tasks_fetching ON tasks (owner, due_at) WHERE state = 'fetching';
CREATE INDEX tasks_storing ON tasks (account, owner, due_at) WHERE state = 'storing';
