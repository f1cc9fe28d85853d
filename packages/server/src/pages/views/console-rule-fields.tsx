import type { Level } from '@countersign/gateway/internal'
import { ANY, DEFAULT_STATUS, NONE } from '../console/policy-codecs.ts'
import { Choice, Columns, Lines, More, type Options, Text, useForm } from './console-form-parts.tsx'

const LEVEL_LABELS: readonly (readonly [level: Level, label: string])[] = [
  ['none', 'No identification'],
  ['unknown', 'Unknown agent'],
  ['unverified', 'Agent of an unverified owner'],
  ['verified', 'Agent of a verified owner'],
  ['directory', 'Key of a trusted directory'],
]

const ACTIONS: Options = [
  ['allow', 'Allow'],
  ['limit', 'Allow within the rate limit'],
  ['deny', 'Refuse'],
]
const PROOF: Options = [
  ['false', 'Not required'],
  ['true', 'Required: a signature or a session'],
]
const GRADES: Options = [
  [ANY, 'Any grade'],
  ...['A', 'B', 'C', 'D', 'E'].map((each) => [each, each] as const),
]
const STATUSES: Options = [
  ['active', 'Active'],
  ['active, suspended', 'Active, suspended'],
  ['active, suspended, revoked', 'Active, suspended, revoked'],
]
const REFUSAL_STATUSES: Options = [
  [DEFAULT_STATUS, '401 or 403'],
  ['402', '402 Payment Required'],
  ['403', '403 Forbidden'],
  ['404', '404 Not Found'],
]
const UNREACHABLE: Options = [
  ['deny', 'Refuse (503)'],
  ['stale', 'Use the last answer'],
  ['flag', 'Allow and flag'],
  ['allow', 'Allow'],
]

const LEVEL_NAMES = LEVEL_LABELS.map(([level]) => `levels.${level}`)
const LISTS = ['identityMethods', 'allow', 'deny']
const LOG = ['requireLogged.policy']
const REFUSALS = ['refusal.status', 'refusal.message', 'unreachable', 'maxStaleSeconds']

interface RuleFieldsProps {
  /** Before the names of the fields: empty, or `routes.0.`. */
  readonly prefix: string
}

/** The rules of the policy, or of a route, which can leave a field to the policy. */
export function RuleFields({ prefix }: RuleFieldsProps) {
  const { hasContent } = useForm()
  const ofRoute = prefix !== ''
  const orSame = (options: Options): Options =>
    ofRoute ? [['', 'Same as the policy'], ...options] : options
  const isOpen = (names: readonly string[]) => hasContent(names.map((name) => prefix + name))
  const same = ofRoute ? 'Empty: same as the policy. ' : ''
  const emptied = ofRoute ? ` “${NONE}”: no list here.` : ''
  const levels = LEVEL_LABELS.map(([level, label]) => (
    <Choice key={level} name={`${prefix}levels.${level}`} label={label} options={orSame(ACTIONS)} />
  ))
  return (
    <>
      {ofRoute ? (
        <More title="Action for each level" open={isOpen(LEVEL_NAMES)}>
          <Columns>{levels}</Columns>
        </More>
      ) : (
        <Columns>{levels}</Columns>
      )}
      <Columns>
        <Choice
          name={`${prefix}requireProof`}
          label="Proof of possession"
          options={orSame(PROOF)}
        />
        <Choice name={`${prefix}minimumGrade`} label="Minimum grade" options={orSame(GRADES)} />
        <Choice
          name={`${prefix}statuses`}
          label="Accepted certificates"
          options={orSame(STATUSES)}
        />
        <Text
          name={`${prefix}minimumKeyAgeSeconds`}
          label="Minimum age of the key, in seconds"
          hint={`${same}Owners can contest a new key for 72 hours (259200).`}
        />
      </Columns>
      <More title="Allow list, deny list, identity providers" open={isOpen(LISTS)}>
        <Lines
          name={`${prefix}allow`}
          label="Allow list"
          hint={`DIDs to admit at any level and grade, one a line. ${same}Without proof of possession, anyone can send these DIDs.${emptied}`}
        />
        <Lines
          name={`${prefix}deny`}
          label="Deny list"
          hint={`DIDs to refuse in any case, one a line. ${same}Comes before the allow list.${emptied}`}
        />
        <Text
          name={`${prefix}identityMethods`}
          label="Accepted identity providers"
          hint={`Ids such as github, eid. ${same}“${ANY}”: every provider. Owners verified by others count as unverified.`}
        />
      </More>
      <More title="Transparency log" open={isOpen(LOG)}>
        <Lines
          name={`${prefix}requireLogged.policy`}
          label="Require logged keys"
          hint={`Logs that must contain the keys of agents, and witnesses that must cosign, as a tlog-policy (c2sp.org/tlog-policy): lines “log”, “witness”, “group”, “quorum”. ${ofRoute ? `Empty: same as the policy. “${NONE}”: no log here.` : 'Empty: no log.'} The simulation takes every key as logged.`}
        />
      </More>
      <More title="Refusals, unreachable service" open={isOpen(REFUSALS)}>
        <Columns>
          <Choice
            name={`${prefix}refusal.status`}
            label="Status of refusals"
            hint="404 hides that the page exists."
            options={orSame(REFUSAL_STATUSES)}
          />
          <Text
            name={`${prefix}refusal.message`}
            label="Message of refusals"
            hint="Empty: the reason"
            code={false}
          />
          <Choice
            name={`${prefix}unreachable`}
            label="If the service is unreachable"
            options={orSame(UNREACHABLE)}
          />
          <Text
            name={`${prefix}maxStaleSeconds`}
            label="Maximum age of the last answer, in seconds"
          />
        </Columns>
      </More>
    </>
  )
}
