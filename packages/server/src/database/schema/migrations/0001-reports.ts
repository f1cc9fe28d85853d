import type { ColumnTypes } from './migration.ts'

/** Reports about agents, and the requests that they signed. */
export const reports = ({ bytes, id, text }: ColumnTypes) => `
create table reports (
  id ${text} primary key,
  tail ${text} not null references agents (tail),
  owner_id ${id} not null references owners (id),
  host ${text} not null,
  category ${text} not null,
  text ${text},
  contact ${text},
  token_hash ${bytes} not null,
  state ${text} not null,
  received_at bigint not null,
  answer ${text},
  answered_at bigint,
  constraint reports_state check (state in ('open', 'answered', 'closed'))
);
create index reports_of_agent on reports (tail, received_at);
create index reports_of_host on reports (host, received_at);
create index reports_of_owner on reports (owner_id);
create index reports_received on reports (received_at);

create table report_evidence (
  report_id ${text} not null references reports (id),
  position integer not null,
  signature_hash ${bytes} not null,
  method ${text} not null,
  path ${text} not null,
  created bigint not null,
  keyid ${text} not null,
  delegate ${text},
  request ${text},
  primary key (report_id, position)
);
-- A request can be reported once, by whomever.
create unique index report_evidence_signature on report_evidence (signature_hash);
`
