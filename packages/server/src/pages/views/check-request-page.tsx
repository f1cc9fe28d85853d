import type { BREAKS } from '../check-request/break-request.ts'
import type { Inspection } from '../check-request/inspect-request.ts'
import type { FormField, RequestForm } from '../check-request/request-form.ts'
import { CheckTabs } from './check-parts.tsx'
import { TextArea, TextField } from './fields.tsx'
import { htmlOf } from './html.tsx'
import type { PageContext } from './page-context.ts'
import { RequestChecks, RequestVerdict } from './request-checks.tsx'
import { RequestLines } from './request-lines.tsx'
import { Shell } from './shell.tsx'

interface CheckRequestData {
  readonly form: RequestForm
  readonly inspection: Inspection
  readonly breaks: typeof BREAKS
}

/**
 * A signed request, coloured by what its signature covers, beside each check of it. A script sends the form while somebody types, and
 * replaces the elements with `data-part`; without it, the form is sent with a button.
 */
export function checkRequestPage(context: PageContext, data: CheckRequestData): string {
  const { serviceName } = context
  const { inspection } = data
  return htmlOf(
    <Shell
      context={context}
      title={`Check a signed request · ${serviceName}`}
      description="Paste a signed HTTP request, and see what its signature covers and the result of each check."
      path="/check/request"
      script={context.assets.checkRequestScript}
      wide
    >
      <CheckTabs path="/check/request" />
      <h1 className="mt-5 text-3xl/9 font-bold tracking-tight">Check a signed request</h1>
      <p className="mt-1 text-pretty">
        See what a signature covers, check by check (RFC 9421, Web Bot Auth). It works for every
        signer with a key directory. Change the sample, or paste a request that your site received.
      </p>
      <form
        method="post"
        action="/check/request#result"
        data-request-form
        className="mt-5 space-y-6"
      >
        {/* The Enter key presses the first button of a form, which would break the request. */}
        <button type="submit" tabIndex={-1} aria-hidden="true" className="sr-only">
          Check request
        </button>
        <Breaks inspection={inspection} breaks={data.breaks} />
        <section id="result" aria-label="Result">
          <div id="verdict" data-part aria-live="polite">
            <RequestVerdict inspection={inspection} />
          </div>
        </section>
        <div className="grid items-start gap-x-8 gap-y-6 lg:grid-cols-2 lg:grid-rows-[auto_1fr]">
          <section aria-labelledby="request-title" className="min-w-0 space-y-2">
            <h2 id="request-title" className="font-semibold">
              Request
            </h2>
            <div id="lines" data-part>
              <RequestLines inspection={inspection} />
            </div>
          </section>
          <section aria-labelledby="checks-title" className="min-w-0 space-y-2 lg:row-span-2">
            <h2 id="checks-title" className="font-semibold">
              Checks
            </h2>
            <div id="checks" data-part>
              <RequestChecks inspection={inspection} />
            </div>
            <div id="link" data-part>
              <CaseLink inspection={inspection} />
            </div>
          </section>
          <Entry data={data} />
        </div>
      </form>
    </Shell>,
  )
}

interface InspectionProps {
  readonly inspection: Inspection
}

function Breaks({ inspection, breaks }: Omit<CheckRequestData, 'form'>) {
  const broken = inspection.kind === 'checked' ? inspection.broken : null
  return (
    <fieldset id="breaks" data-part className="space-y-2">
      <legend className="mb-2 font-semibold">Break it</legend>
      <div className="flex flex-wrap gap-2">
        {[{ name: '', title: 'As received' }, ...breaks].map(({ name, title }) => (
          <button
            key={name}
            type="submit"
            name="break"
            value={name}
            aria-pressed={(broken?.name ?? '') === name}
            className="min-h-10 cursor-pointer rounded-lg border border-line-strong bg-surface px-4 text-sm font-medium hover:border-accent hover:text-accent aria-pressed:border-accent aria-pressed:bg-accent-wash aria-pressed:ring-1 aria-pressed:ring-accent"
          >
            {title}
          </button>
        ))}
      </div>
      <p className="text-sm/6 text-soft wrap-anywhere">
        {broken?.done || 'See which check notices what somebody does to the request.'}
      </p>
    </fieldset>
  )
}

/** A link that reproduces the case, and what it leaves out. */
function CaseLink({ inspection }: InspectionProps) {
  if (inspection.kind !== 'checked') return null
  const { link, decoded, now, isLive } = inspection
  const { input } = decoded
  const isValid = isLive && typeof input !== 'string' && (input.expires ?? 0) * 1000 > now
  if (link.path === null) {
    return <p className="text-sm/6 text-soft">This request is too long for a link.</p>
  }
  return (
    <p className="text-sm/6 wrap-anywhere">
      <a href={link.path} className="text-accent underline underline-offset-4">
        Link to this case
      </a>{' '}
      <span className="text-soft">
        {link.leftOut.length === 0
          ? 'It contains the whole request.'
          : `It leaves out ${listOf(link.leftOut)}.`}{' '}
        It checks the request at the time of this check.
        {isValid && ' The signature in it is still valid: share the link after it has expired.'}
      </span>
    </p>
  )
}

const LIST = new Intl.ListFormat('en', { type: 'conjunction' })

function listOf(names: readonly string[]): string {
  return LIST.format(names)
}

/** What is checked, and how. */
function Entry({ data: { form, inspection } }: { readonly data: CheckRequestData }) {
  const fault = inspection.kind === 'fault' ? inspection.fault : null
  const errorOf = (name: FormField) => (fault?.field === name ? fault.message : '')
  const options = ['line', 'key', 'origin', 'at'] as const
  const isOpen = options.some((name) => form[name] !== '' || errorOf(name) !== '')
  const field = (name: (typeof options)[number]) => ({
    id: name,
    name,
    value: form[name],
    error: errorOf(name),
    optional: true,
  })
  return (
    <div className="min-w-0 space-y-4">
      <TextArea
        id="request"
        name="request"
        label="Paste a request"
        hint="A curl command, raw HTTP, a HAR entry, or headers. Leave out cookies and other secrets that are not signed."
        value={form.request}
        error={errorOf('request')}
        rows={10}
        optional
      />
      <details id="options" open={isOpen}>
        <summary className="cursor-pointer font-medium text-accent hover:text-accent-strong">
          Options: URL of headers, key, your site, time
        </summary>
        <div className="space-y-4 pt-3">
          <TextField
            {...field('line')}
            label="Method and URL (for headers alone)"
            placeholder="GET https://shop.example/orders?page=2"
            code
          />
          <TextArea
            {...field('key')}
            label="Public key (optional)"
            hint="A JWK, a key set, PEM or base64. Default: the key that the signature names, from this service or from a key directory."
          />
          <TextField
            {...field('origin')}
            label="Origin of your site (optional)"
            hint="Default: the origin of the URL. Your site must take it from its settings, never from a request."
            code
          />
          <TextField
            {...field('at')}
            label="Time of the check, in UTC (optional)"
            hint="Default: now."
            placeholder="2026-11-27T19:50:40Z"
            code
          />
        </div>
      </details>
      <div className="flex flex-wrap items-center gap-x-5 gap-y-2">
        <button
          type="submit"
          className="min-h-12 cursor-pointer rounded-lg bg-accent px-6 font-semibold text-on-accent hover:bg-accent-strong"
        >
          Check request
        </button>
        <a href="/check/request" className="text-sm text-accent underline underline-offset-4">
          New sample
        </a>
        <p
          data-failure="Not checked. Check your connection and the length of the request, then press Check request."
          aria-live="polite"
          className="text-sm/6 font-medium text-warn"
        />
      </div>
      <p className="text-sm/6 text-soft">
        Nothing is stored: neither the request nor its nonce. If the signature names a key
        directory, the service reads it. Programs use{' '}
        <a href="/docs/api/check#verifyRequest" className="underline underline-offset-4">
          POST /api/v1/verify-request
        </a>
        .
      </p>
    </div>
  )
}
