import { type MandateStatement, visibleText } from '@countersign/protocol'
import { DateTime } from '../../components/date-time.tsx'
import { CODE, Item, Row, Rows } from '../approvals/request-details.tsx'
import { siteOf } from '../approvals/shown-request.ts'
import { labelOf } from './mandate-form.ts'
import { requestsText, requestText, ruleText, totalText } from './terms.ts'

interface MandateSummaryProps {
  /** What the passkey signs. */
  readonly statement: MandateStatement
  /** Of the agent; self-declared. */
  readonly displayName: string
}

/** All that the passkey signs, except the random salt. */
export function MandateSummary({ statement, displayName }: MandateSummaryProps) {
  const { agent, body, expiresAt, from, limits, perDay, query, service, total } = statement
  return (
    <dl className="@container flex flex-col divide-y divide-line rounded-2xl border border-line bg-surface px-4 py-1 sm:px-7 sm:py-3">
      <Item label="Agent">
        <bdi className="wrap-anywhere font-medium">{visibleText(displayName)}</bdi>{' '}
        <span className="text-soft text-sm">(self-declared name)</span>
        <span className="wrap-anywhere block font-mono text-soft text-xs">{agent}</span>
      </Item>
      <Item label="Site">
        <span className="wrap-anywhere block font-bold text-2xl leading-8 tracking-tight">
          {limits.origins.map((origin) => siteOf(new URL(origin))).join(', ')}
        </span>
      </Item>
      <Item label="Requests">
        <span className={CODE}>{requestText(limits, query)}</span>
      </Item>
      <Item label="Body">
        {body === null ? (
          'None'
        ) : (
          <Rows>
            {Object.entries(body).map(([pointer, rule]) => (
              <Row key={pointer} label={labelOf(pointer)} value={ruleText(rule)} />
            ))}
          </Rows>
        )}
      </Item>
      <Item label="Total">{total === null ? 'None' : totalText(total)}</Item>
      <Item label="Most requests">{requestsText(perDay)} in 24 hours</Item>
      <Item label="Valid until">
        <DateTime at={expiresAt} />, 00:00 UTC
      </Item>
      <Item label="Made from the approval">
        <span className={CODE}>{from}</span>
        <span className="wrap-anywhere block text-soft text-sm">at {service}</span>
      </Item>
    </dl>
  )
}
