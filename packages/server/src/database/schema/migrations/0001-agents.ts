import type { ColumnTypes } from './migration.ts'

/** Agents, the tokens that claim them, their keys and their channels. */
export const agents = ({ bytes, id, text }: ColumnTypes) => `
create table agents (
  seq ${id} primary key,
  tail ${text} not null unique,
  public_key ${bytes} not null,
  agent_id ${text} not null,
  owner_id ${id} not null references owners (id),
  status ${text} not null,
  status_reason ${text},
  status_set_by ${text} not null,
  pair_slot bigint not null,
  renounce_final_at bigint,
  claimed_at bigint not null,
  status_changed_at bigint not null,
  status_time ${text} not null default 'exact',
  updated_at bigint not null,
  version bigint not null,
  username ${text},
  display_name ${text},
  description ${text},
  username_skeleton ${text},
  avatar ${text},
  grade ${text} not null default 'E',
  key_sequence integer not null default 1,
  key_changed_at bigint,
  key_thumbprint ${bytes} not null,
  directory_proof ${text},
  key_changed_by ${text},
  delegation_depth integer not null default 0,
  responsible ${text},
  owner_changed_at bigint,
  approvals integer not null default 0,
  constraint agents_approvals check (approvals in (0, 1)),
  constraint agents_delegation_depth check (delegation_depth between 0 and 3),
  constraint agents_status_time check (status_time in ('exact', 'day')),
  constraint agents_pair unique (public_key, agent_id, pair_slot)
);
-- Partial: most agents have no username, and the indexes stay small.
create unique index agents_username on agents (username) where username is not null;
create index agents_owner on agents (owner_id);
create unique index agents_username_skeleton on agents (username_skeleton)
  where username_skeleton is not null;
create index agents_key_thumbprint on agents (key_thumbprint);
-- Partial: agents of persons have no responsible member.
create index agents_responsible on agents (responsible, status) where responsible is not null;

create table claim_tokens (
  hash ${bytes} primary key,
  owner_id ${id} not null references owners (id),
  created_at bigint not null,
  expires_at bigint not null,
  used_at bigint,
  superseded_at bigint,
  position integer not null default 0,
  issued_by ${text} not null default ''
);
create index claim_tokens_owner on claim_tokens (owner_id);
-- At most one live token of a member for each position, even if several batches are issued at once.
create unique index claim_tokens_live_batch on claim_tokens (owner_id, issued_by, position)
  where used_at is null and superseded_at is null;

create table avatars (
  tail ${text} primary key references agents (tail),
  webp ${bytes} not null
);

-- Keys that an agent no longer uses. The current one is in the row of the agent.
create table agent_keys (
  tail ${text} not null references agents (tail),
  sequence integer not null,
  public_key ${bytes} not null,
  state ${text} not null,
  valid_from bigint not null,
  valid_until bigint not null,
  changed_by ${text},
  constraint agent_keys_pk primary key (tail, sequence),
  constraint agent_keys_sequence check (sequence >= 1),
  constraint agent_keys_state check (state in ('retired', 'renounced', 'compromised', 'lost'))
);
create index agent_keys_public_key on agent_keys (public_key);

-- Apart from the agents: a suspension of a key outlives the revocation of an agent by its owner.
create table suspended_keys (
  public_key ${bytes} primary key,
  reason ${text},
  suspended_at bigint not null
);

create table key_recoveries (
  tail ${text} primary key references agents (tail),
  reason ${text} not null,
  started_at bigint not null,
  token_hash ${bytes} not null,
  token_expires_at bigint not null,
  token_used_at bigint,
  new_key ${bytes},
  redeemed_at bigint,
  effective_at bigint,
  started_by ${text},
  constraint key_recoveries_reason check (reason in ('key_lost', 'key_compromised'))
);
create index key_recoveries_new_key on key_recoveries (new_key);
create index key_recoveries_started_by on key_recoveries (started_by) where started_by is not null;

create table channels (
  id ${text} primary key,
  tail ${text} not null references agents (tail),
  kind ${text} not null,
  handle_or_domain ${text} not null,
  tier integer not null,
  created_at bigint not null,
  proof_token ${text},
  proof_expires_at bigint,
  proven_token ${text},
  proven_by ${text},
  verified_at bigint,
  checked_at bigint,
  fresh_until bigint,
  stale_since bigint,
  failures integer not null default 0,
  failing_since bigint,
  failed_at bigint,
  constraint channels_place unique (tail, kind, handle_or_domain)
);
create index channels_handle on channels (kind, handle_or_domain);
-- Finds the warnings that are due before a proof goes stale.
create index channels_fresh_until on channels (fresh_until);

create table channel_checks (
  channel_id ${text} not null,
  at bigint not null,
  outcome ${text} not null,
  perspectives ${text} not null,
  constraint channel_checks_pk primary key (channel_id, at)
);

-- When each channel is checked next. Nodes lease a channel for the time of a check.
create table channel_leases (
  channel_id ${text} primary key,
  due_at bigint,
  leased_by ${text},
  held_until bigint not null default 0
);
create index channel_leases_due on channel_leases (due_at);
`
