import type { ColumnTypes } from './migration.ts'

/** Rules by which workloads enrol with the tokens of their platforms, and the agents that did. */
export const enrolment = ({ bytes, id, text }: ColumnTypes) => `
create table enrolment_rules (
  id ${text} primary key,
  owner_id ${id} not null references owners (id),
  name ${text} not null,
  issuer ${text},
  trust_domain ${text},
  keys ${text} not null,
  match ${text} not null,
  binding ${text} not null,
  agent_label ${text},
  agent_label_claim ${text},
  max_live integer not null,
  unseen_after_seconds integer not null,
  max_token_seconds integer not null,
  display_name ${text},
  description ${text},
  state ${text} not null,
  created_by ${text},
  responsible ${text},
  created_at bigint not null,
  admitted_at bigint not null,
  last_enrolled_at bigint,
  refused_at bigint,
  refused_check ${text},
  keys_read_at bigint,
  keys_failed_at bigint,
  keys_problem ${text},
  constraint enrolment_rules_binding check (binding in ('key', 'token')),
  constraint enrolment_rules_state check (state in ('active', 'paused', 'deleted')),
  constraint enrolment_rules_label check ((agent_label is null) <> (agent_label_claim is null))
);
create index enrolment_rules_owner on enrolment_rules (owner_id);

create table enrolments (
  tail ${text} primary key references agents (tail),
  rule_id ${text} not null references enrolment_rules (id),
  owner_id ${id} not null references owners (id),
  claims ${text} not null,
  created_at bigint not null,
  seen_at bigint not null,
  grace_at bigint,
  ends_at bigint not null,
  ended_at bigint
);
create index enrolments_live on enrolments (rule_id) where ended_at is null;
create index enrolments_live_of_owner on enrolments (owner_id) where ended_at is null;
create index enrolments_of_owner on enrolments (owner_id, created_at);

-- Tokens that are not bound to a key, by the key that used them first. Kept for 10 minutes after they expire.
create table enrolment_tokens (
  hash ${bytes} primary key,
  thumbprint ${text} not null,
  expires_at bigint not null
);
create index enrolment_tokens_expires on enrolment_tokens (expires_at);
`
