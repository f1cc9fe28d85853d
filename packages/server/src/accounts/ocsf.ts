import type { OcsfEvent } from '@countersign/protocol'
import { VERSION } from '../base/version.ts'
import type { EventType } from '../database/event-table.ts'
import type { AccountActivityType } from './account-activity-table.ts'

/** The types of events and activities that an owner reads. Nobody owns the events of status lists. */
export type OwnedType = Exclude<EventType, `status.${string}`> | AccountActivityType

/* Classes of OCSF 1.8.0. */
const ENTITY_MANAGEMENT = 3004
const AUTHENTICATION = 3002
const DETECTION_FINDING = 2004

/* Activities of Entity Management, except the first one, which Detection Finding has too. */
const CREATE = 1
const UPDATE = 3
const DELETE = 4
const DISABLE = 9
const SUSPEND = 12
const RESUME = 13
const OTHER = 99

const LOGON = 1
const LOGOFF = 2

const INFORMATIONAL = 1
const LOW = 2
const MEDIUM = 3
const HIGH = 4

interface Mapping {
  readonly classUid: OcsfEvent['class_uid']
  readonly activity: number
  readonly severity: 1 | 2 | 3 | 4
  /** Of a finding. */
  readonly title?: string
  /** The members of the payload that `unmapped` has. `changed`: only the names of all members. */
  readonly payload: readonly string[] | 'changed'
}

/** Entity Management. */
function managed(
  activity: number,
  severity: Mapping['severity'],
  payload: Mapping['payload'] = [],
): Mapping {
  return { classUid: ENTITY_MANAGEMENT, activity, severity, payload }
}

function authentication(activity: number, payload: readonly string[]): Mapping {
  return { classUid: AUTHENTICATION, activity, severity: INFORMATIONAL, payload }
}

function finding(
  title: string,
  severity: Mapping['severity'],
  payload: readonly string[],
): Mapping {
  return { classUid: DETECTION_FINDING, activity: CREATE, severity, title, payload }
}

const STATUS = ['status', 'reason']
const KEY = ['keySequence', 'keyThumbprint']
const API_KEY = ['apiKey', 'scopes', 'expiresAt']
const RULE = ['rule', 'state']
const WEBHOOK = ['webhook', 'host', 'apiKey']

/**
 * What becomes of each type. The payloads here are allow-lists: no names that people chose, no handles, texts, e-mail or IP
 * addresses and no User-Agents.
 */
export const OCSF_MAPPINGS: Readonly<Record<OwnedType, Mapping>> = {
  'agent.claimed': managed(CREATE, INFORMATIONAL),
  'agent.updated': managed(UPDATE, INFORMATIONAL, 'changed'),
  'agent.grade_changed': managed(UPDATE, INFORMATIONAL, ['from', 'to']),
  'agent.directory_proven': managed(UPDATE, INFORMATIONAL, ['keyid', 'expiresAt']),
  'agent.delegation_changed': managed(UPDATE, INFORMATIONAL, ['maxDepth', 'ended', 'by']),
  'agent.delegation_created': managed(UPDATE, INFORMATIONAL, ['id', 'expiresAt']),
  'agent.delegation_ended': managed(UPDATE, INFORMATIONAL, ['id', 'by']),
  'agent.approval_requested': managed(UPDATE, INFORMATIONAL),
  'agent.approval_decided': managed(UPDATE, INFORMATIONAL),
  'agent.key_rotated': managed(UPDATE, LOW, [...KEY, 'previousKeyThumbprint']),
  'agent.key_recovered': managed(UPDATE, LOW, [...KEY, 'reason']),
  'agent.key_recovery_redeemed': managed(UPDATE, LOW, [...KEY, 'effectiveAt']),
  'agent.key_recovery_vetoed': managed(UPDATE, LOW, ['reason']),
  'agent.key_recovery_cancelled': managed(UPDATE, LOW, ['reason']),
  'agent.key_recovery_started': managed(UPDATE, MEDIUM, ['keySequence', 'reason']),
  'agent.owner_changed': managed(UPDATE, MEDIUM),
  'agent.released': managed(UPDATE, MEDIUM),
  'agent.key_contested': managed(UPDATE, HIGH, [...KEY, 'lastGoodSequence', 'reason']),
  'agent.renounced': managed(UPDATE, HIGH, ['finalAt']),
  'agent.suspended': managed(SUSPEND, MEDIUM, STATUS),
  'agent.reactivated': managed(RESUME, LOW, STATUS),
  'agent.revoked': managed(DISABLE, MEDIUM, STATUS),
  'agent.key_compromised': finding('The key of an agent was reported as compromised', HIGH, KEY),
  'channel.verified': managed(UPDATE, INFORMATIONAL, ['kind']),
  'channel.stale': managed(UPDATE, INFORMATIONAL, ['kind', 'reason']),
  'channel.removed': managed(UPDATE, INFORMATIONAL, ['kind', 'reason']),

  'owner.updated': managed(UPDATE, INFORMATIONAL, 'changed'),
  'owner.identity_verified': managed(UPDATE, INFORMATIONAL, ['provider', 'assurance']),
  'owner.identity_expired': managed(UPDATE, INFORMATIONAL, ['provider', 'reason']),
  'owner.suspended': managed(SUSPEND, HIGH, ['reason']),
  'owner.reactivated': managed(RESUME, LOW),
  'owner.deleted': managed(DELETE, MEDIUM),
  'owner.api_key_created': managed(UPDATE, LOW, API_KEY),
  'owner.api_key_revoked': managed(UPDATE, LOW, API_KEY),
  'owner.enrolment_rule_created': managed(UPDATE, INFORMATIONAL, RULE),
  'owner.enrolment_rule_changed': managed(UPDATE, INFORMATIONAL, RULE),
  'owner.enrolment_rule_deleted': managed(UPDATE, INFORMATIONAL, RULE),

  'owner.signed_up': authentication(LOGON, ['provider']),
  'owner.signed_in': authentication(LOGON, ['provider']),
  'owner.sign_in_confirmed': authentication(LOGON, ['provider']),
  'owner.sessions_ended': authentication(LOGOFF, ['count']),
  'owner.sign_in_method_added': managed(UPDATE, MEDIUM, ['method', 'provider']),
  'owner.sign_in_method_removed': managed(UPDATE, MEDIUM, ['method', 'provider']),
  'owner.webhook_created': managed(UPDATE, INFORMATIONAL, WEBHOOK),
  'owner.webhook_changed': managed(UPDATE, INFORMATIONAL, WEBHOOK),
  'owner.grant_issuer_created': managed(UPDATE, INFORMATIONAL, ['grantIssuer', 'apiKey']),
  'owner.grant_issuer_deleted': managed(UPDATE, INFORMATIONAL, ['grantIssuer']),
  'owner.grant_issuer_assigned': managed(UPDATE, INFORMATIONAL, ['agent', 'grantIssuer']),
  'owner.grant_issuer_unassigned': managed(UPDATE, INFORMATIONAL, ['agent', 'grantIssuer']),
  'owner.grant_first_issued': managed(UPDATE, INFORMATIONAL, ['agent', 'audience']),
  'owner.report_received': finding('A site reported an agent', MEDIUM, [
    'category',
    'host',
    'report',
  ]),
  'owner.approvals_turned_on': managed(UPDATE, LOW, ['agent']),
  'owner.approvals_turned_off': managed(UPDATE, LOW, ['agent']),
  'owner.mandate_created': managed(UPDATE, LOW, ['agent', 'mandate']),
  'owner.mandate_ended': managed(UPDATE, LOW, ['agent', 'mandate']),
  // Like an API key: access that outlasts the session.
  'owner.scim_token_created': managed(UPDATE, LOW, ['scimToken']),
  'owner.scim_token_ended': managed(UPDATE, LOW, ['scimToken']),
  // Like a sign-in method: it decides who can act for the organisation.
  'owner.sso_connected': managed(UPDATE, MEDIUM, ['host']),
  'owner.domain_set': managed(UPDATE, MEDIUM, ['domain']),
  'owner.joined': managed(UPDATE, INFORMATIONAL, ['organisation', 'role']),
  'owner.left': managed(UPDATE, INFORMATIONAL, ['organisation', 'reason']),
}

/** Of a type that this release does not know: a node of a newer one has written it. */
const UNKNOWN = managed(OTHER, INFORMATIONAL)

/** Whether a type becomes a finding, which is about an agent. */
export function isFinding(type: string): boolean {
  return mappingOf(type).classUid === DETECTION_FINDING
}

function mappingOf(type: string): Mapping {
  return Object.hasOwn(OCSF_MAPPINGS, type) ? OCSF_MAPPINGS[type as OwnedType] : UNKNOWN
}

/** What an event is about. Exactly one of an agent (its DID), an account, or a webhook endpoint that is tested (its id). */
export type OcsfSubject =
  | { readonly agent: string }
  /** `uid`: a username, or the public id of an organisation. */
  | { readonly account: { readonly uid: string; readonly isOrganisation: boolean } }
  | { readonly webhook: string }

interface OcsfInput {
  readonly type: string
  /** Milliseconds since the Unix epoch. */
  readonly at: number
  /** The same wherever the event is read. */
  readonly uid: string
  readonly subject: OcsfSubject
  /** Null: deliveries have none. */
  readonly payload: Readonly<Record<string, unknown>> | null
}

/** An event in OCSF 1.8.0. @param service who tells of it */
export function ocsfEvent(
  service: { readonly baseUrl: string; readonly serviceName: string },
  { type, at, uid, subject, payload }: OcsfInput,
): OcsfEvent {
  const mapping = mappingOf(type)
  const { classUid, activity, severity } = mapping
  const product = { name: service.serviceName, vendor_name: 'Countersign', version: VERSION }
  const unmapped = payload === null ? {} : unmappedOf(mapping, payload)
  return {
    class_uid: classUid,
    category_uid: Math.floor(classUid / 1000),
    activity_id: activity,
    ...(activity === OTHER && { activity_name: type }),
    type_uid: classUid * 100 + activity,
    severity_id: severity,
    status_id: 1,
    time: at,
    message: type,
    metadata: {
      version: '1.8.0',
      uid,
      event_code: type,
      log_provider: service.baseUrl,
      product,
    },
    ...aboutOf(service, mapping, { uid, subject, payload }),
    ...(Object.keys(unmapped).length > 0 && { unmapped }),
  }
}

function aboutOf(
  { baseUrl, serviceName }: { readonly baseUrl: string; readonly serviceName: string },
  { classUid, title = '' }: Mapping,
  { uid, subject, payload }: Pick<OcsfInput, 'uid' | 'subject' | 'payload'>,
): Partial<OcsfEvent> {
  if (classUid === DETECTION_FINDING && 'agent' in subject) {
    const resources = [{ uid: subject.agent, type: 'AI Agent' }]
    return { finding_info: { uid, title }, resources }
  }
  if (classUid === AUTHENTICATION && 'account' in subject) {
    const method = payload?.method
    return {
      user: { uid: subject.account.uid },
      service: { name: serviceName, uid: baseUrl },
      ...(typeof method === 'string' && { auth_protocol_id: 99, auth_protocol: method }),
    }
  }
  return { entity: entityOf(subject) }
}

function entityOf(subject: OcsfSubject): NonNullable<OcsfEvent['entity']> {
  if ('agent' in subject) return { uid: subject.agent, type_id: 99, type: 'AI Agent' }
  if ('webhook' in subject) return { uid: subject.webhook, type_id: 99, type: 'Webhook Endpoint' }
  const { uid, isOrganisation } = subject.account
  return isOrganisation
    ? { uid, type_id: 4, type: 'Organization', org: { uid } }
    : { uid, type_id: 2, type: 'User', user: { uid } }
}

function unmappedOf(
  { payload: allowed }: Mapping,
  payload: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const members = Object.entries(payload)
  if (allowed !== 'changed') {
    return Object.fromEntries(
      members.filter(([name, value]) => allowed.includes(name) && value !== null),
    )
  }
  return members.length === 0 ? {} : { changed: members.map(([name]) => name) }
}
