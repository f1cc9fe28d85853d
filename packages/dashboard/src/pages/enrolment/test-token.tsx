import {
  type EnrolmentRule,
  type EnrolmentTest,
  MAX_PLATFORM_TOKEN_LENGTH,
} from '@countersign/protocol'
import { useState } from 'react'
import { send } from '../../api/client.ts'
import { Icon, type IconName } from '../../channels/icon.tsx'
import { Button } from '../../components/button.tsx'
import { CopyField } from '../../components/copy-field.tsx'
import { ErrorNote, Note } from '../../components/error-note.tsx'
import { TextAreaField } from '../../components/field.tsx'
import { Section } from '../../components/page.tsx'
import { submitHandler } from '../../components/submit-handler.ts'
import { useAction } from '../../components/use-action.ts'
import { pathOf } from './queries.ts'

type Check = EnrolmentTest['checks'][number]

/** What each check is about. */
const NAMES: Readonly<Record<Check['check'], string>> = {
  format: 'Format',
  header: 'Header',
  issuer: 'Issuer',
  audience: 'Audience',
  expired: 'Expiry',
  times: 'Lifetime',
  'unknown-key': 'Key',
  signature: 'Signature',
  claim: 'Claims',
}

/** Shows what each check says of a token that is pasted. */
export function TestToken({ rule }: { readonly rule: EnrolmentRule }) {
  const { id, binding, audience } = rule
  const [token, setToken] = useState('')
  const [isEmpty, setEmpty] = useState(false)
  const [result, setResult] = useState<EnrolmentTest | null>(null)
  const test = useAction(async () => {
    setResult(null)
    setEmpty(token === '')
    if (token === '') return
    setResult(await send<EnrolmentTest>('POST', `${pathOf(id)}/test`, { token }))
  })
  return (
    <Section
      title="Test a token"
      lead="Paste a token of a workload to see whether it could enrol. Nothing is stored, and no agent is created."
    >
      {binding === 'key' && (
        <>
          <CopyField label="Audience for a test" value={`${audience}/test`} />
          <p className="text-pretty text-soft text-sm">
            No key has the thumbprint “test”, so nobody can enrol with such a token.
          </p>
        </>
      )}
      <form onSubmit={submitHandler(test.run)} className="flex flex-col gap-4">
        <TextAreaField
          label="Token"
          hint={
            binding === 'token'
              ? 'A live credential until it expires. Paste it here only.'
              : 'A JWT in compact form.'
          }
          error={isEmpty ? 'Paste a token.' : null}
          className="break-all font-mono text-sm"
          rows={4}
          maxLength={MAX_PLATFORM_TOKEN_LENGTH}
          value={token}
          onChange={({ target }) => {
            setToken(target.value.trim())
            setEmpty(false)
          }}
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
        />
        <Button type="submit" className="self-start" pending={test.pending}>
          Test the token
        </Button>
        <ErrorNote error={test.error} />
      </form>
      <div role="status">{result !== null && <Result result={result} />}</div>
    </Section>
  )
}

function Result({ result: { checks, claims } }: { readonly result: EnrolmentTest }) {
  const passed = checks.every(({ ok }) => ok === true)
  return (
    <div className="flex flex-col gap-4">
      <Note tone={passed ? 'good' : 'bad'}>
        <p>{passed ? 'The rule accepts this token.' : 'The rule refuses this token.'}</p>
      </Note>
      <ul aria-label="Checks" className="divide-y divide-line">
        {checks.map((each) => (
          <CheckItem key={each.check} result={each} />
        ))}
      </ul>
      {claims !== null && (
        <details>
          <summary className="w-fit cursor-pointer rounded-lg py-2 text-soft hover:text-ink">
            Claims of the token
          </summary>
          <pre className="mt-2 whitespace-pre-wrap break-all rounded-lg border border-line bg-sunken px-3 py-2.5 font-mono text-sm leading-6">
            {JSON.stringify(claims, null, 2)}
          </pre>
        </details>
      )}
    </div>
  )
}

function CheckItem({ result: { check, ok, detail } }: { readonly result: Check }) {
  const { word, icon, colour } = STYLES[ok === null ? 'skipped' : ok ? 'passed' : 'failed']
  return (
    <li className="flex gap-3 py-2.5">
      <Icon name={icon} className={`mt-0.5 size-5 shrink-0 ${colour}`} />
      <p className="min-w-0 wrap-anywhere">
        <span className="font-medium">{NAMES[check]}</span>
        <span className="sr-only">: {word}.</span>{' '}
        <span className="block text-soft text-sm">{detail}</span>
      </p>
    </li>
  )
}

const STYLES = {
  passed: { word: 'passed', icon: 'tick', colour: 'text-good' },
  failed: { word: 'failed', icon: 'warning', colour: 'text-bad' },
  skipped: { word: 'not reached', icon: 'bar', colour: 'text-soft' },
} as const satisfies Record<string, { word: string; icon: IconName; colour: string }>
