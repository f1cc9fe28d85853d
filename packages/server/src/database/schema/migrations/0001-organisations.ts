import type { ColumnTypes } from './migration.ts'

/** Organisations, which are rows of owners: their members, sign-in, domains, and the transfers of agents between owners. */
export const organisations = ({ bytes, id, text }: ColumnTypes) => `
create table memberships (
  id ${text} primary key,
  org_id ${id} not null references owners (id),
  person_id ${id} references owners (id),
  role ${text} not null,
  role_since bigint not null,
  source ${text} not null,
  created_at bigint not null,
  ended_at bigint,
  end_reason ${text},
  constraint memberships_role check (role in ('viewer', 'responder', 'manager', 'admin')),
  constraint memberships_source check (source in ('manual', 'sso'))
);
-- A person who comes back gets a new membership.
create unique index memberships_live on memberships (org_id, person_id) where ended_at is null;
create index memberships_person on memberships (person_id);

create table invitations (
  id ${text} primary key,
  org_id ${id} not null references owners (id),
  email ${text},
  username ${text},
  role ${text} not null,
  invited_by ${text} not null references memberships (id),
  created_at bigint not null,
  expires_at bigint not null,
  constraint invitations_target check ((email is null) <> (username is null)),
  constraint invitations_email unique (org_id, email),
  constraint invitations_username unique (org_id, username)
);
create index invitations_of_email on invitations (email);
create index invitations_of_username on invitations (username);

create table organisation_settings (
  org_id ${id} primary key references owners (id),
  suspend_after_days integer
);

create table organisation_domains (
  org_id ${id} primary key references owners (id),
  domain ${text} not null,
  token ${text} not null,
  token_expires_at bigint not null,
  proven_at bigint,
  proven_token ${text},
  proven_by ${text},
  due_at bigint,
  leased_by ${text},
  held_until bigint not null default 0
);
create index organisation_domains_due on organisation_domains (due_at);

create table sso_connections (
  id ${text} primary key,
  org_id ${id} not null unique references owners (id),
  issuer ${text} not null,
  client_id ${text} not null,
  sealed_secret ${bytes},
  group_claim ${text} not null,
  role_map ${text} not null,
  subject_claim ${text} not null,
  created_at bigint not null,
  updated_at bigint not null
);

create table scim_tokens (
  hash ${bytes} primary key,
  id ${text} not null unique,
  org_id ${id} not null references owners (id),
  created_by ${text} not null references memberships (id),
  created_at bigint not null,
  expires_at bigint not null,
  last_used_at bigint
);
create index scim_tokens_organisation on scim_tokens (org_id);

create table scim_users (
  id ${text} primary key,
  org_id ${id} not null references owners (id),
  external_id ${text},
  user_name ${text} not null,
  user_name_folded ${text} not null,
  display_name ${text},
  active integer not null,
  person_id ${id} references owners (id),
  created_at bigint not null,
  updated_at bigint not null,
  constraint scim_users_active check (active in (0, 1)),
  constraint scim_users_name unique (org_id, user_name_folded),
  -- A sign-in finds its user by it.
  constraint scim_users_external unique (org_id, external_id)
);
create index scim_users_person on scim_users (person_id);

create table transfers (
  id ${text} primary key,
  from_owner ${id} not null references owners (id),
  to_owner ${id} not null references owners (id),
  state ${text} not null,
  started_by ${text},
  accepted_by ${text},
  failure ${text},
  created_at bigint not null,
  expires_at bigint not null,
  accepted_at bigint,
  effective_at bigint,
  ended_at bigint,
  constraint transfers_state check
    (state in ('offered', 'accepted', 'done', 'declined', 'cancelled', 'expired', 'failed'))
);
create index transfers_from on transfers (from_owner, created_at);
create index transfers_to on transfers (to_owner, created_at);

create table transfer_agents (
  transfer_id ${text} not null references transfers (id),
  tail ${text} not null references agents (tail),
  is_open integer not null,
  constraint transfer_agents_pk primary key (transfer_id, tail),
  constraint transfer_agents_open check (is_open in (0, 1))
);
-- An agent has at most one open transfer.
create unique index transfer_agents_live on transfer_agents (tail) where is_open = 1;

-- Who acted for an organisation: a row for each request that changed something.
create table member_actions (
  id bigint primary key,
  org_id ${id} not null references owners (id),
  membership ${text} not null references memberships (id),
  operation ${text} not null,
  request ${text} not null,
  api_key ${text},
  at bigint not null,
  constraint member_actions_request unique (request, membership)
);
create index member_actions_organisation on member_actions (org_id, id);
create index member_actions_oldest on member_actions (at);
`
