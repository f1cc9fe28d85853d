import { visibleText } from '@countersign/protocol'
import type { ReactNode } from 'react'
import { durationText } from '../agent/keys/duration.ts'
import { isInternational, type ShownRequest, siteOf } from './shown-request.ts'

export const CODE = 'whitespace-pre-wrap wrap-anywhere font-mono'

interface RequestDetailsProps {
  readonly shown: ShownRequest
  /** The body or the message was deleted some time after the end. */
  readonly isDeleted: boolean
}

/** Everything that the passkey signs, in a fixed order: nothing is folded, shortened or left out. */
export function RequestDetails({ shown, isDeleted }: RequestDetailsProps) {
  const { agent, displayName, method, url, query, message, seconds } = shown
  return (
    <dl className="@container flex flex-col divide-y divide-line rounded-2xl border border-line bg-surface px-4 py-1 sm:px-7 sm:py-3">
      <Item label="Agent">
        <bdi className="wrap-anywhere font-medium">{visibleText(displayName)}</bdi>{' '}
        <span className="text-soft text-sm">(self-declared name)</span>
        <span className="wrap-anywhere block font-mono text-soft text-xs">{agent}</span>
      </Item>
      <Item label="Site">
        <span className="wrap-anywhere block font-bold text-2xl leading-8 tracking-tight">
          {siteOf(url)}
        </span>
        {isInternational(url) && (
          <span className="mt-1 block rounded-lg bg-warn-wash px-3 py-1.5 text-pretty text-sm text-warn">
            The name has letters outside ASCII, written as <span className="font-mono">xn--</span>.
            They can look like those of another site.
          </span>
        )}
      </Item>
      <Item label="Request">
        <span className={CODE}>
          {method} {url.pathname}
        </span>
      </Item>
      {query === null && <Item label="Query">{unreadable(url.search)}</Item>}
      {query !== null && query.length > 0 && (
        <Item label="Query">
          <Rows>
            {query.map(({ name, value, written }) => (
              <Row key={name} label={visibleText(name)} value={visibleText(value)}>
                {written !== `${name}=${value}` && (
                  <span className={`block text-soft text-xs ${CODE}`}>written as {written}</span>
                )}
              </Row>
            ))}
          </Rows>
        </Item>
      )}
      <Item label="Body">
        <Body shown={shown} isDeleted={isDeleted} />
      </Item>
      {message !== null && (
        <Item label="The agent says (not verified)">
          <blockquote className="border-line-strong border-l-4 pl-3 text-soft">
            <bdi className="whitespace-pre-wrap wrap-anywhere">“{visibleText(message)}”</bdi>
          </blockquote>
        </Item>
      )}
      <Item label="Approval">Valid once, for {durationText(seconds)}</Item>
    </dl>
  )
}

function Body({ shown: { url, body, rows }, isDeleted }: RequestDetailsProps) {
  if (rows !== null) {
    return (
      <Rows>
        {rows.map(([pointer, text]) => (
          <Row key={pointer} label={pointer.slice(1) || 'all of it'} value={text} />
        ))}
      </Rows>
    )
  }
  if (body !== null) return unreadable(body)
  if (isDeleted) return 'Deleted, 30 days after the end'
  return url.search === ''
    ? 'None: this request shows no amount'
    : 'None: all that this request says is in its address'
}

/** As it is written, if it cannot be shown in rows. */
function unreadable(text: string): ReactNode {
  return (
    <>
      <span className={`block ${CODE}`}>{visibleText(text)}</span>
      <strong className="block text-bad">Sites can read this in different ways.</strong>
    </>
  )
}

interface ItemProps {
  readonly label: string
  readonly children: ReactNode
}

export function Item({ label, children }: ItemProps) {
  return (
    <div className="py-2 sm:py-3">
      <dt className="text-soft text-sm leading-5">{label}</dt>
      <dd>{children}</dd>
    </div>
  )
}

export function Rows({ children }: { readonly children: ReactNode }) {
  return <dl className="flex flex-col divide-y divide-line/60">{children}</dl>
}

interface RowProps {
  readonly label: string
  readonly value: string
  readonly children?: ReactNode
}

/** A value as it is written, with its place. */
export function Row({ label, value, children }: RowProps) {
  return (
    <div className="grid gap-x-4 py-1 @3xs:grid-cols-[minmax(0,2fr)_minmax(0,3fr)]">
      <dt className={`text-soft text-sm leading-6 ${CODE}`}>{label}</dt>
      <dd>
        {value === '' ? (
          <span className="text-soft italic">empty</span>
        ) : (
          <bdi className={`font-semibold ${CODE}`}>{value}</bdi>
        )}
        {children}
      </dd>
    </div>
  )
}
