import type { AgentReports, ReportCategory, ReportEvidence } from '@countersign/protocol'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { keysQuery, pathOf, reportsQuery } from '../../agents/queries.ts'
import { get, send } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { TextAreaField } from '../../components/field.tsx'
import { NextPageButton } from '../../components/next-page-button.tsx'
import { Section } from '../../components/page.tsx'
import { saveFile } from '../../components/save-file.ts'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { submitHandler } from '../../components/submit-handler.ts'
import { toast } from '../../components/toast.tsx'
import { useAction } from '../../components/use-action.ts'
import { useAgent } from './agent-tabs.ts'
import type { Key } from './keys/contestable.ts'
import { ReportKeyDialog } from './keys/report-key-dialog.tsx'
import { useRefreshAgent } from './keys/use-recovery.ts'
import { StatusDialog } from './status-dialog.tsx'

type Report = AgentReports['reports'][number]
type Request = Report['requests'][number]

const CATEGORIES: Readonly<Record<ReportCategory, string>> = {
  rate: 'Too many requests',
  fraud: 'Fraud',
  scraping: 'Scraping',
  impersonation: 'Impersonation',
  other: 'Other',
}

const STATES: Readonly<Record<Report['state'], string>> = {
  open: 'Open',
  answered: 'Answered',
  closed: 'Closed',
}

/** What sites reported of the agent, with the requests that it signed. */
export function ReportsTab() {
  const { did } = useAgent()
  const found = useInfiniteQuery(reportsQuery(did))
  const reports = found.data?.pages.flatMap((page) => page.reports) ?? []
  return (
    <div className="flex max-w-3xl flex-col gap-8">
      <Section
        title="Reports"
        lead={
          <>
            A key of the agent signed each request below, for the host that is named, at the time
            that the signer wrote. That does not prove abuse, when a request arrived, or who reports
            it. A report changes nothing by itself.{' '}
            <a href="/docs/reports" className="text-accent underline">
              What to do about a report
            </a>
          </>
        }
      >
        <ErrorNote error={found.error} onRetry={() => void found.refetch()} />
        {found.isPending && (
          <>
            <Loading what="the reports" />
            <Skeleton className="h-24" />
          </>
        )}
        {found.isSuccess && reports.length === 0 && <p>No reports</p>}
        {reports.length > 0 && <SuspendButton />}
      </Section>
      {reports.map((report) => (
        <ReportSection key={report.id} report={report} />
      ))}
      <NextPageButton list={found}>Show older reports</NextPageButton>
    </div>
  )
}

/** Nothing if the agent is not active. */
function SuspendButton() {
  const { did, agent } = useAgent()
  const [open, setOpen] = useState(false)
  const ground = useRef<HTMLDivElement>(null)
  return (
    <div ref={ground} tabIndex={-1} className="outline-hidden">
      {agent.status === 'active' ? (
        <Button variant="warning" onClick={() => setOpen(true)}>
          Suspend agent …
        </Button>
      ) : (
        <p>The agent is {agent.status}.</p>
      )}
      <StatusDialog
        did={did}
        agent={agent}
        change="suspend"
        open={open}
        onClose={() => setOpen(false)}
        // The pressed button no longer exists after the change.
        focusAfter={() => (ground.current?.querySelector('button') ? true : ground.current)}
      />
    </div>
  )
}

function ReportSection({ report }: { readonly report: Report }) {
  const { host, category, state, receivedAt, text, contact } = report
  return (
    <Section
      title={`About requests to ${host}`}
      lead={
        <>
          {CATEGORIES[category]}, received <DateTime at={receivedAt} as="minute" />
        </>
      }
      actions={
        <span className="rounded-full bg-sunken px-2.5 py-1 font-semibold text-sm leading-none">
          {STATES[state]}
        </span>
      }
    >
      {text === null ? (
        <p className="text-soft">The report was withdrawn, and its text deleted.</p>
      ) : (
        <blockquote className="wrap-anywhere whitespace-pre-wrap border-line-strong border-l-4 pl-4">
          {text}
        </blockquote>
      )}
      {contact !== null && (
        <p className="wrap-anywhere">
          <span className="text-soft">Contact, not verified:</span> {contact}
        </p>
      )}
      <ul className="flex flex-col divide-y divide-line">
        {report.requests.map((request) => (
          <RequestItem
            key={`${request.signedAt} ${request.path} ${request.keyid}`}
            request={request}
          />
        ))}
      </ul>
      <EvidenceButtons report={report} />
      <Answer report={report} />
    </Section>
  )
}

function RequestItem({ request }: { readonly request: Request }) {
  const { method, url, path, signedAt, delegate } = request
  return (
    <li className="py-3">
      <p className="wrap-anywhere font-mono text-sm">
        {method} {url ?? `${path} (the query is deleted)`}
      </p>
      <p className="text-soft text-sm">
        Signed <DateTime at={signedAt} as="minute" />
        {delegate === null ? ' by ' : ' by a delegated key, under '}
        {keyText(request.key)}
      </p>
    </li>
  )
}

/** The key was valid when the request was signed. What became of it since? */
function keyText({ sequence, state, until }: Request['key']) {
  if (state === 'current') return `key ${sequence}, the current key`
  if (state === 'compromised') {
    return (
      <>
        key {sequence}, <strong className="text-bad">reported as leaked</strong>
        {until !== null && (
          <>
            {' '}
            (not valid since <DateTime at={until} as="minute" />)
          </>
        )}
      </>
    )
  }
  if (state === 'lost' || until === null) return 'a key that is no longer known'
  return (
    <>
      key {sequence}, {state} since <DateTime at={until} as="minute" />
    </>
  )
}

function EvidenceButtons({ report }: { readonly report: Report }) {
  const { did } = useAgent()
  const keys = useQuery(keysQuery(did)).data?.keys ?? []
  const [reported, setReported] = useState<Key | null>(null)
  const [open, setOpen] = useState(false)
  const sequences = new Set(report.requests.map(({ key }) => key.sequence))
  const burnable = keys.filter(
    ({ sequence, state }) => sequences.has(sequence) && state !== 'compromised' && state !== 'lost',
  )
  const download = useAction(async () => {
    const path = `${pathOf(did)}/reports/${report.id}/evidence`
    const evidence = await get<ReportEvidence>(path)
    saveFile(`${report.id}.json`, JSON.stringify(evidence, null, 2), 'application/json')
  })
  return (
    <>
      <div className="flex flex-wrap gap-3">
        {report.requests.some(({ url }) => url !== null) && (
          <Button size="small" pending={download.pending} onClick={download.run}>
            Download the signed requests
          </Button>
        )}
        {burnable.map((key) => (
          <Button
            key={key.sequence}
            size="small"
            variant="warning"
            onClick={() => {
              setReported(key)
              setOpen(true)
            }}
          >
            Report key {key.sequence} as stolen …
          </Button>
        ))}
      </div>
      <ErrorNote error={download.error} />
      {reported !== null && (
        <ReportKeyDialog
          reported={reported}
          isCurrent={reported.sequence === keys.at(-1)?.sequence}
          open={open}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  )
}

const MAX_ANSWER = 1000

function Answer({ report }: { readonly report: Report }) {
  const { did } = useAgent()
  const refresh = useRefreshAgent()
  const [text, setText] = useState('')
  const answer = useAction(async () => {
    if (text.trim() === '') return
    await send('POST', `${pathOf(did)}/reports/${report.id}/answer`, { text })
    await refresh()
    toast('Answer sent.')
  })
  if (report.answer !== null && report.answeredAt !== null) {
    return (
      <div className="rounded-lg bg-sunken px-4 py-3">
        <p className="text-soft text-sm">
          Answered <DateTime at={report.answeredAt} as="minute" />
        </p>
        <p className="wrap-anywhere whitespace-pre-wrap">{report.answer}</p>
      </div>
    )
  }
  if (report.state !== 'open') return null
  return (
    <form onSubmit={submitHandler(answer.run)} className="flex flex-col items-start gap-3">
      <div className="w-full">
        <TextAreaField
          label="Answer"
          hint="The reporter can read it. You can answer once."
          aside={`${[...text].length} of ${MAX_ANSWER}`}
          maxLength={MAX_ANSWER}
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
      </div>
      <ErrorNote error={answer.error} />
      <Button type="submit" pending={answer.pending} disabled={text.trim() === ''}>
        Send answer
      </Button>
    </form>
  )
}
