import type { CheckPageData } from '../check-data.ts'
import { AgentAnswerView, SignatureAnswerView } from './check-answers.tsx'
import type { PageContext } from './context.ts'
import { AgentForm, SubmitButton, TextArea, TextField } from './fields.tsx'
import { htmlOf } from './html.tsx'
import { Shell } from './shell.tsx'

/** The check page: two forms, each with its result above it. */
export function checkPage(context: PageContext, { agent, proof }: CheckPageData): string {
  return htmlOf(
    <Shell
      context={context}
      title={`Check an agent · ${context.serviceName}`}
      description={`Whether a ${context.serviceName} certificate is good, and whether an agent holds the key that it says it holds.`}
      path="/check"
    >
      <h1 className="max-w-3xl pt-4 text-4xl/11 font-bold tracking-tight text-balance sm:text-5xl/14">
        Check an agent
      </h1>
      <div className="mt-10 grid gap-x-16 gap-y-16 lg:grid-cols-2">
        <section aria-labelledby="certificate" className="min-w-0 space-y-6">
          <h2 id="certificate" className={HEADING}>
            How does its certificate stand?
          </h2>
          <AgentForm label="Agent" {...askedOf(agent)} />
          {agent !== null && <AgentAnswerView context={context} answer={agent.answer} />}
        </section>
        <section aria-labelledby="proof" className="min-w-0 space-y-6">
          <h2 id="proof" className={HEADING}>
            Is it the one that it says it is?
          </h2>
          <p className="text-pretty">
            Make up a text that has never been used, send it to the agent, and have it signed.
            Whoever signs it holds the key.
          </p>
          {proof !== null && <SignatureAnswerView context={context} answer={proof.answer} />}
          <form method="post" action="/check#proof" className="space-y-5">
            <TextField
              id="holder"
              name="agent"
              label="Whose key"
              hint="The agent’s public key, DID or username"
              value={proof?.asked.agent ?? ''}
            />
            <TextArea
              id="challenge"
              name="challenge"
              label="Challenge"
              hint="The text, exactly as you sent it"
              value={proof?.asked.challenge ?? ''}
            />
            <TextField
              id="signature"
              name="signature"
              label="Signature"
              hint="What the agent answered: 88 characters of base64"
              value={proof?.asked.signature ?? ''}
              code
            />
            <SubmitButton>Check the signature</SubmitButton>
          </form>
        </section>
      </div>
    </Shell>,
  )
}

const HEADING = 'text-2xl/8 font-semibold tracking-tight text-balance'

/** Refills the form with the input, except a claim token, which is a secret. */
function askedOf(agent: CheckPageData['agent']): { value?: string } {
  return agent === null || agent.answer.kind === 'token' ? {} : { value: agent.asked }
}
