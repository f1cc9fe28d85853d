import type { EnrolmentRule } from '@countersign/protocol'
import { Icon } from '../../channels/icon.tsx'
import { type RuleState, stateOf } from './rule-texts.ts'

const STYLES = {
  active: { text: 'Active', icon: 'tick', colours: 'bg-good-wash text-good' },
  paused: { text: 'Paused', icon: 'bar', colours: 'bg-sunken text-soft' },
  forgotten: { text: 'Stopped', icon: 'clock', colours: 'bg-warn-wash text-warn' },
  keys: { text: 'Keys unreadable', icon: 'warning', colours: 'bg-bad-wash text-bad' },
} as const satisfies Record<RuleState, object>

/** Shows the state of a rule by text, icon and colour. */
export function RuleMark({ rule }: { readonly rule: EnrolmentRule }) {
  const { text, icon, colours } = STYLES[stateOf(rule, Date.now())]
  return (
    <span
      className={`inline-flex items-center gap-1.5 whitespace-nowrap rounded-full px-2.5 py-1 font-semibold text-sm leading-none ${colours}`}
    >
      <Icon name={icon} className="size-4" />
      {text}
    </span>
  )
}
