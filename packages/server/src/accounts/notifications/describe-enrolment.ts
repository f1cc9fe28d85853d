import { IF_NOT_YOU, type NotificationText, selfDeclared } from './notification-text.ts'
import type { NotificationDetails } from './notify-owner.ts'

const RULES = '/dashboard/enrolment'

/** The notification that an enrolment rule was created, changed, paused or deleted. */
export function describeRuleChange({
  change,
  rule,
  name,
  state,
  apiKey,
  by: operator,
}: NotificationDetails): NotificationText {
  const by =
    operator === 'operator'
      ? ' The operator of the service did this.'
      : `${typeof apiKey === 'string' ? ' An API key did this.' : ''}${IF_NOT_YOU}`
  return {
    title: `The enrolment rule ${selfDeclared(String(name))} was ${verbOf(String(change), state)}`,
    text: `Workloads that match an active rule get certificates in your name.${by}`,
    link: String(change).endsWith('_deleted') ? RULES : `${RULES}/${rule}`,
  }
}

function verbOf(change: string, state: unknown): string {
  if (change.endsWith('_created')) return 'created'
  if (change.endsWith('_deleted')) return 'deleted'
  return state === 'paused' ? 'paused' : 'changed'
}

const ATTENTION: Readonly<Record<string, string>> = {
  'token-reused':
    'A token of your platform was used with a second key. If it was not your workload that started again, somebody else has had its token.',
  'keys-unreadable':
    'The keys of the issuer cannot be read, so nobody can enrol. No agent ends for this reason within seven days.',
  'unknown-key': 'The issuer signs with a key that the rule does not have. Paste its new keys.',
  full: 'A workload was refused, because the limit of agents was reached.',
}

/** The notification that workloads cannot enrol by a rule, or that somebody may misuse it. */
export function describeRuleAttention({
  rule,
  name,
  reason,
}: NotificationDetails): NotificationText {
  return {
    title: `The enrolment rule ${selfDeclared(String(name))} needs attention`,
    text: ATTENTION[String(reason)] ?? 'Workloads could not enrol.',
    link: `${RULES}/${rule}`,
  }
}
