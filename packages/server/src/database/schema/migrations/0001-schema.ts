import { hash } from 'node:crypto'
import { accounts } from './0001-accounts.ts'
import { agents } from './0001-agents.ts'
import { enrolment } from './0001-enrolment.ts'
import { organisations } from './0001-organisations.ts'
import { reports } from './0001-reports.ts'
import { statements } from './0001-statements.ts'
import { type ColumnTypes, executeScript, type Migration } from './migration.ts'
import { RELEASED } from './released.ts'

/** Events, jobs, settings, counters and webhooks. */
const shared = ({ bytes, id, text }: ColumnTypes) => `
create table events (
  seq ${id} primary key,
  at bigint not null,
  type ${text} not null,
  tail ${text},
  owner_id ${id},
  payload ${text} not null
);
-- For the history of an agent and of an owner. Claim events, by far the most, are in none of these indexes: an agent's
-- claim event is found by its sequence number, which the agent's row has.
create index events_agent on events (tail) where type <> 'agent.claimed';
create index events_owner on events (owner_id) where tail is null;
create index events_owner_agents on events (owner_id, seq)
  where tail is not null and type <> 'agent.claimed';

create table jobs (
  id ${text} primary key,
  kind ${text} not null,
  subject ${text} not null,
  run_at bigint not null,
  attempts integer not null,
  due_since bigint
);
create index jobs_due on jobs (run_at);
-- Partial: few jobs fail.
create index jobs_due_since on jobs (due_since) where due_since is not null;

-- Settings that all nodes must agree on, stored by the first.
create table settings (
  name ${text} primary key,
  value ${text} not null
);

-- The number of each node's last commit, so that it can find out whether a commit went through if the connection is lost.
create table commit_marks (
  node ${text} primary key,
  mark bigint not null,
  at bigint not null
);

-- Shared counts of rate limits: one row for each limit that is partly used.
create table rate_counts (
  key ${bytes} primary key,
  whole_at double precision not null,
  taken integer not null
);
create index rate_counts_whole_at on rate_counts (whole_at);

create table webhook_endpoints (
  id ${text} primary key,
  owner_id ${id} references owners (id),
  url ${text} not null,
  created_by_key ${text},
  created_by ${text},
  types ${text},
  state ${text} not null,
  disabled_reason ${text},
  secret_salt ${text} not null,
  created_at bigint not null,
  after_seq ${id} not null,
  due_at bigint not null default 0,
  failures integer not null default 0,
  failing_since bigint,
  delivered_at bigint,
  leased_by ${text},
  held_until bigint not null default 0,
  previous_salt ${text},
  previous_until bigint,
  format ${text} not null,
  audience ${text},
  sealed_authorization ${bytes},
  constraint webhook_endpoints_state check (state in ('active', 'paused', 'disabled')),
  constraint webhook_endpoints_format check (format in ('standard', 'ocsf', 'set'))
);
create index webhook_endpoints_owner on webhook_endpoints (owner_id);

create table webhook_deliveries (
  id ${text} primary key,
  endpoint_id ${text} not null references webhook_endpoints (id),
  seq ${id},
  type ${text} not null,
  tail ${text},
  at bigint not null,
  state ${text} not null,
  created_at bigint not null,
  attempts integer not null default 0,
  attempted_at bigint,
  status integer,
  problem ${text},
  duration_ms integer,
  constraint webhook_deliveries_state check (state in ('pending', 'delivered', 'failed'))
);
-- The queue of an endpoint, and all queues.
create index webhook_deliveries_queue on webhook_deliveries (state, endpoint_id, seq);
-- The log of an endpoint.
create index webhook_deliveries_log on webhook_deliveries (endpoint_id, created_at, id);
create index webhook_deliveries_created on webhook_deliveries (created_at);
`

/** Referenced tables come before those that refer to them. */
function scriptOf(types: ColumnTypes): string {
  return [accounts, agents, organisations, enrolment, reports, statements, shared]
    .map((part) => part(types))
    .join('')
}

const NAME = '0001-schema'
const script = scriptOf({ bytes: 'bytes', id: 'id', text: 'text' }).replaceAll(/^--.*$/gm, '')

/**
 * All tables of the first release. Until it is tagged, the name changes with the tables, so that no build runs on tables that
 * another build has made.
 */
export const schema: Migration = {
  name: NAME in RELEASED ? NAME : `${NAME}-${hash('sha256', script).slice(0, 8)}`,
  up: (db, types) => executeScript(db, scriptOf(types)),
}
