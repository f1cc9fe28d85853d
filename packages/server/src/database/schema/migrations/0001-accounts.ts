import type { ColumnTypes } from './migration.ts'

/** Owners: their identity verifications, sign-in methods, sessions, API keys, notifications and activities. */
export const accounts = ({ bytes, id, text }: ColumnTypes) => `
create table owners (
  id ${id} primary key,
  kind ${text} not null default 'person',
  public_id ${text} unique,
  username ${text} not null unique,
  display_name ${text} not null,
  created_at bigint not null,
  deleted_at bigint,
  username_skeleton ${text},
  user_handle ${text},
  suspended_at bigint,
  suspension_reason ${text},
  name_changed_at bigint,
  badge_copied_at bigint,
  onboarding_hidden_at bigint,
  constraint owners_kind check (kind in ('person', 'organisation', 'member'))
);
-- Not unique: the service compares usernames before it stores one.
create index owners_username_skeleton on owners (username_skeleton);

create table identity_verifications (
  owner_id ${id} not null references owners (id),
  provider ${text} not null,
  subject_hash ${bytes} not null,
  pepper_id ${text} not null,
  assurance ${text} not null,
  country ${text},
  verified_at bigint not null,
  expires_at bigint,
  published_name ${text},
  constraint identity_verifications_pk primary key (owner_id, provider),
  constraint identity_verifications_subject unique (provider, subject_hash)
);
-- Finds the warnings that are due before a verification expires.
create index identity_verifications_expires on identity_verifications (expires_at);

create table passkeys (
  credential_id ${text} primary key,
  owner_id ${id} not null references owners (id),
  public_key ${bytes} not null,
  counter bigint not null,
  transports ${text} not null,
  backed_up integer not null,
  name ${text} not null,
  created_at bigint not null,
  last_used_at bigint
);
create index passkeys_owner on passkeys (owner_id);

create table recovery_codes (
  hash ${bytes} primary key,
  owner_id ${id} not null references owners (id),
  created_at bigint not null
);
create index recovery_codes_owner on recovery_codes (owner_id);

create table sign_in_identities (
  provider ${text} not null,
  subject_hash ${bytes} not null,
  owner_id ${id} not null references owners (id),
  created_at bigint not null,
  constraint sign_in_identities_pk primary key (provider, subject_hash),
  constraint sign_in_identities_owner unique (owner_id, provider)
);

create table sign_in_links (
  hash ${bytes} primary key,
  owner_id ${id} not null references owners (id),
  expires_at bigint not null
);

create table sessions (
  hash ${bytes} primary key,
  id ${text} not null unique,
  owner_id ${id} not null references owners (id),
  method ${text} not null,
  browser ${text} not null,
  signed_in_at bigint not null,
  last_seen_at bigint not null,
  expires_at bigint not null,
  passkey_id ${text},
  provider ${text},
  limited_to ${id} references owners (id)
);
create index sessions_owner on sessions (owner_id);
-- For deletions, as that of flows.
create index sessions_expires on sessions (expires_at);
create index sessions_seen on sessions (last_seen_at);

create table api_keys (
  hash ${bytes} primary key,
  id ${text} not null unique,
  owner_id ${id} not null references owners (id),
  name ${text} not null,
  scopes ${text} not null,
  last_four ${text} not null,
  created_by ${text},
  created_at bigint not null,
  expires_at bigint not null,
  last_used_at bigint
);
create index api_keys_owner on api_keys (owner_id);

create table flows (
  hash ${bytes} primary key,
  kind ${text} not null,
  owner_id ${id} references owners (id),
  provider ${text},
  reference ${text},
  state ${text} not null,
  expires_at bigint not null
);
create index flows_reference on flows (provider, reference);
-- For deletions in write transactions, which would otherwise scan the table and block other writers.
create index flows_expires on flows (expires_at);
-- Partial: most flows have no owner yet.
create index flows_owner on flows (owner_id) where owner_id is not null;

create table released_usernames (
  hash ${bytes} primary key,
  exact_hash ${bytes} not null,
  owner_id ${id} not null references owners (id),
  available_at bigint not null
);
create index released_usernames_available on released_usernames (available_at);

create table notifications (
  id ${text} primary key,
  owner_id ${id} not null references owners (id),
  kind ${text} not null,
  subject ${text} not null,
  details ${text} not null,
  created_at bigint not null,
  read_at bigint,
  constraint notifications_subject unique (owner_id, kind, subject)
);
create index notifications_newest on notifications (owner_id, created_at, id);

create table email_addresses (
  id ${text} primary key,
  owner_id ${id} not null references owners (id),
  address ${text} not null,
  added_at bigint not null,
  verified_at bigint,
  token_hash ${bytes},
  token_expires_at bigint,
  constraint email_addresses_owner unique (owner_id, address)
);
create index email_addresses_address on email_addresses (lower(address));

create table email_preferences (
  owner_id ${id} not null references owners (id),
  kind ${text} not null,
  enabled integer not null,
  constraint email_preferences_pk primary key (owner_id, kind),
  constraint email_preferences_enabled check (enabled in (0, 1))
);

create table email_outbox (
  id ${text} primary key,
  owner_id ${id} not null references owners (id),
  notification_id ${text},
  address_id ${text} not null,
  address ${text} not null,
  created_at bigint not null,
  due_at bigint,
  attempts integer not null default 0,
  leased_by ${text},
  held_until bigint not null default 0,
  interruptions integer not null default 0
);
create index email_outbox_due on email_outbox (due_at);
create index email_outbox_owner on email_outbox (owner_id);

create table account_activity (
  id bigint primary key,
  owner_id ${id} not null references owners (id),
  after_seq bigint not null,
  at bigint not null,
  type ${text} not null,
  details ${text} not null
);
create index account_activity_newest on account_activity (owner_id, after_seq, id);
create index account_activity_oldest on account_activity (at);
`
