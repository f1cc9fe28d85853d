import type { ColumnTypes } from './migration.ts'

/** What the service signs: issuer keys, status lists, grants, the transparency log and its witnesses, and the logs that it witnesses. */
export const statements = ({ bytes, id, text }: ColumnTypes) => `
create table issuer_keys (
  id ${text} primary key,
  jwks ${text} not null,
  state ${text} not null,
  published_at bigint not null,
  activated_at bigint,
  ended_at bigint,
  remove_at bigint,
  constraint issuer_keys_state
    check (state in ('published', 'active', 'retired', 'removed', 'compromised'))
);
create unique index issuer_keys_one_active on issuer_keys (state) where state = 'active';

create table issuer_key_reports (
  key_id ${text} not null references issuer_keys (id),
  node ${text} not null,
  held_since bigint,
  seen_at bigint not null,
  constraint issuer_key_reports_pk primary key (key_id, node)
);

create table status_lists (
  list integer primary key,
  allocated integer not null default 0,
  is_closed integer not null default 0,
  constraint status_lists_closed check (is_closed in (0, 1))
);

-- An entry gets its row with the first certificate that refers to it, so a claim writes none.
create table status_entries (
  list integer not null references status_lists (list),
  idx integer not null,
  tail ${text} not null references agents (tail),
  key_sequence integer not null,
  grade ${text} not null,
  identity_method ${text},
  assurance ${text},
  delegation_depth integer not null default 0,
  value integer not null,
  is_current integer not null,
  changed_seq ${id} not null,
  allocated_at bigint not null,
  constraint status_entries_pk primary key (list, idx),
  constraint status_entries_delegation_depth check (delegation_depth between 0 and 3),
  constraint status_entries_value check (value in (0, 1, 2)),
  constraint status_entries_current check (is_current in (0, 1))
);
-- An agent has one entry at most to which new certificates refer.
create unique index status_entries_current on status_entries (tail) where is_current = 1;
-- Partial: loading the lists at a start reads only these.
create index status_entries_restricted on status_entries (list, idx, value) where value <> 0;

create table delegations (
  id ${text} primary key,
  tail ${text} not null references agents (tail),
  list integer not null,
  idx integer not null,
  label ${text} not null,
  created_at bigint not null,
  expires_at bigint not null,
  ended_at bigint,
  ended_by ${text},
  constraint delegations_entry foreign key (list, idx) references status_entries (list, idx),
  constraint delegations_ended check ((ended_at is null) = (ended_by is null)),
  constraint delegations_ended_by check (ended_by in ('agent', 'owner', 'service'))
);
create index delegations_agent on delegations (tail, created_at);
-- Partial: each change of an agent's status or grade reads only these.
create index delegations_live on delegations (tail) where ended_at is null;

-- What the status feed publishes. Kept for 30 days, without times.
create table feed_changes (
  epoch ${text} not null,
  n bigint not null,
  list integer not null,
  idx integer not null,
  value integer not null,
  chain ${bytes} not null,
  day integer not null,
  constraint feed_changes_pk primary key (epoch, n),
  constraint feed_changes_value check (value in (0, 1, 2))
);

create table grant_issuers (
  id ${text} primary key,
  owner_id ${id} references owners (id),
  name ${text} not null,
  created_by ${text},
  created_at bigint not null,
  deleted_at bigint
);
create index grant_issuers_owner on grant_issuers (owner_id);

create table grant_assignments (
  tail ${text} primary key,
  issuer_id ${text} not null references grant_issuers (id),
  assigned_at bigint not null
);
create index grant_assignments_issuer on grant_assignments (issuer_id);

create table grant_uses (
  tail ${text} not null,
  audience ${text} not null,
  first_at bigint not null,
  last_at bigint not null,
  grants integer not null,
  constraint grant_uses_pk primary key (tail, audience)
);

-- Kept for 400 days after their end, and longer than what they approved.
create table mandates (
  id ${text} primary key,
  seq ${id} not null,
  tail ${text} not null references agents (tail),
  owner_id ${id} not null references owners (id),
  key_sequence integer not null,
  approval_id ${text} not null,
  statement ${text} not null,
  created_at bigint not null,
  created_by ${text},
  expires_at bigint not null,
  ended_at bigint,
  passkey_key ${bytes} not null,
  client_data ${bytes} not null,
  authenticator_data ${bytes} not null,
  signature ${bytes} not null
);
create index mandates_owner on mandates (owner_id, seq);
create index mandates_expiry on mandates (expires_at);
-- Partial: each request for an approval reads only these.
create index mandates_live on mandates (tail) where ended_at is null;

create table approvals (
  id ${text} primary key,
  seq ${id} not null unique,
  tail ${text} not null references agents (tail),
  owner_id ${id} not null references owners (id),
  key_sequence integer not null,
  service ${text} not null,
  method ${text} not null,
  url ${text} not null,
  origin ${text} not null,
  content_type ${text},
  request_digest ${text} not null,
  body ${text},
  body_digest ${text},
  message ${text},
  message_digest ${text},
  salt ${text} not null,
  valid_seconds integer not null,
  state ${text} not null,
  created_at bigint not null,
  expires_at bigint not null,
  decided_at bigint,
  decided_by ${text},
  passkey_key ${bytes},
  client_data ${bytes},
  authenticator_data ${bytes},
  signature ${bytes},
  mandate_id ${text} references mandates (id),
  hundredths bigint,
  constraint approvals_mandate check ((mandate_id is null) = (hundredths is null)),
  constraint approvals_state
    check (state in ('pending', 'approved', 'denied', 'expired', 'cancelled')),
  constraint approvals_decided check ((decided_at is not null) = (state in ('approved', 'denied')))
);
-- One question about the same request at a time.
create unique index approvals_pending on approvals (tail, request_digest) where state = 'pending';
create index approvals_owner on approvals (owner_id, seq);
create index approvals_agent on approvals (tail, created_at);
create index approvals_created on approvals (created_at);
-- Partial: counts the uses of a mandate.
create index approvals_of_mandate on approvals (mandate_id, created_at)
  where mandate_id is not null;
-- Partial: finds the texts that are due for deletion.
create index approvals_texts on approvals (created_at)
  where body is not null or message is not null;

create table used_nonces (
  hash ${text} primary key,
  keyid ${text} not null,
  expires_at bigint not null
);
create index used_nonces_key on used_nonces (keyid);
create index used_nonces_expiry on used_nonces (expires_at);

create table log_queue (
  seq ${id} primary key,
  tail ${text} not null,
  owner_id ${id},
  type ${text} not null,
  entry ${text} not null,
  evidence ${text},
  not_before bigint not null
);
-- Partial: almost all changes are due at once, and are found by their numbers.
create index log_queue_later on log_queue (not_before, seq) where not_before > 0;
-- Claims, by far the most, are not held back and need no index by agent.
create index log_queue_waiting on log_queue (tail) where type <> 'claimed';

create table log_epochs (
  epoch ${id} primary key,
  origin ${text} not null unique,
  public_key ${bytes} not null,
  created_at bigint not null,
  size bigint not null,
  root ${bytes} not null,
  published_size bigint not null,
  published_root ${bytes},
  checkpoint ${text},
  published_at bigint,
  backfilled_seq bigint not null,
  complete_index bigint,
  complete_at bigint
);

create table log_entries (
  epoch ${id} not null references log_epochs (epoch),
  position bigint not null,
  tail ${text},
  claim ${id},
  entry ${text} not null,
  salt ${bytes},
  evidence ${text},
  opening_owner ${id},
  constraint log_entries_pk primary key (epoch, position)
);
-- Claims, by far the most, are found by their number, which grows: an index by random tails would be written to all over.
create index log_entries_claim on log_entries (claim) where claim is not null;
create index log_entries_agent on log_entries (tail, epoch, position) where claim is null;

create table log_tiles (
  epoch ${id} not null references log_epochs (epoch),
  level integer not null,
  position bigint not null,
  hashes ${bytes} not null,
  constraint log_tiles_pk primary key (epoch, level, position)
);

create table log_quotas (
  owner_id ${id} primary key,
  day bigint not null,
  entries bigint not null
);

create table log_pending (
  epoch ${id} primary key references log_epochs (epoch),
  size bigint not null,
  root ${bytes} not null,
  checkpoint ${text} not null,
  signed_at bigint not null
);

create table log_witnesses (
  epoch ${id} not null references log_epochs (epoch),
  witness ${text} not null,
  size bigint not null,
  cosignature ${text},
  answered_at bigint not null,
  not_before bigint not null,
  failures integer not null,
  failure ${text},
  problem ${text},
  constraint log_witnesses_pk primary key (epoch, witness)
);

create table log_joins (
  nonce ${text} primary key,
  at bigint not null,
  answer ${text}
);

create table witness_keys (
  number ${id} primary key,
  name ${text} not null,
  public_key ${bytes} not null,
  created_at bigint not null,
  halted_at bigint
);

create table witnessed_logs (
  origin ${text} primary key,
  size bigint not null,
  root ${bytes} not null,
  checkpoint ${text},
  cosigned_at bigint not null
);
`
