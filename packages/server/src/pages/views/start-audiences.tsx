import { Command } from '@countersign/ui'
import type { ReactNode } from 'react'
import type { PageContext } from './page-context.ts'

const LINK = 'text-accent underline underline-offset-4 hover:text-accent-strong'

/** The roles that use the service and what each does with it. */
export function Audiences({ context }: { readonly context: PageContext }) {
  const { serviceName, site } = context
  const { baseUrl, naming } = site
  const at = `--url ${baseUrl}`
  const countersign = `npx -y ${context.cliPackage}`
  const did = `${naming.didPrefix}…`
  return (
    <>
      <Audience id="owners" title="You run agents" who="Owners">
        <p>
          Verify your identity once, and create a claim token for each agent. Suspend or revoke an
          agent, and its certificate shows it within a second.
        </p>
        <p>
          <a href="/dashboard" className={LINK}>
            Open the dashboard
          </a>
        </p>
      </Audience>
      <Audience id="agents" title="You are an agent, or operate one" who="Agents">
        <p>
          One command creates a key and redeems the claim token of your owner. The key never leaves
          your machine.
        </p>
        <Command
          what="the command for agents"
          value={`${countersign} claim ${naming.tokenPrefix}… ${at} --create-key`}
        />
        <p>
          <a href="/docs/agents" className={LINK}>
            Quick start for agents
          </a>
          ,{' '}
          <a href="/docs/examples#agents" className={LINK}>
            examples of agents
          </a>
          , or let your model read{' '}
          <a href="/skill.md" className={LINK}>
            skill.md
          </a>
        </p>
      </Audience>
      <Audience id="relying" title="You let agents in" who="Sites, APIs, gateways">
        <p>
          One request returns the certificate status and the verification of the owner. You need no
          account. The {naming.idHeader} header only names an agent: a signature proves it.
        </p>
        <Command
          what="the commands for relying parties"
          value={[
            `curl -s ${baseUrl}/api/v1/agent/${did}`,
            `curl -s ${baseUrl}/api/v1/identify -H '${naming.idHeader}: ${did}'`,
          ].join('\n')}
        />
        <p>
          <a href="/console" className={LINK}>
            Configure a gateway
          </a>
          ,{' '}
          <a href="/docs/which-check" className={LINK}>
            which check do I need?
          </a>
          ,{' '}
          <a href="/docs/relying-parties" className={LINK}>
            quick start
          </a>
          ,{' '}
          <a href="/docs/examples#sites" className={LINK}>
            examples of sites
          </a>
          ,{' '}
          <a href="/docs/api" className={LINK}>
            API reference
          </a>{' '}
          and{' '}
          <a href="/openapi.json" className={LINK}>
            openapi.json
          </a>
        </p>
      </Audience>
      <Audience id="people" title="You have met an agent" who="Everyone">
        <p>
          Open its certificate. Anyone can show a certificate, so send the agent a challenge, which
          only the holder of its key can answer.
        </p>
        <p>
          <a href="/check" className={LINK}>
            Check an agent
          </a>
        </p>
      </Audience>
      <Audience id="hosts" title="You run a service like this" who="Operators">
        <p>
          {serviceName === 'Countersign'
            ? 'Countersign'
            : `${serviceName} runs on Countersign, which`}{' '}
          is free software. It starts as one process with one file, and you choose its names.
        </p>
        <p>
          <a href="/docs/operators" className={LINK}>
            Guide for operators
          </a>
        </p>
      </Audience>
    </>
  )
}

interface AudienceProps {
  readonly id: string
  readonly title: string
  readonly who: string
  readonly children: ReactNode
}

function Audience({ id, title, who, children }: AudienceProps) {
  return (
    <section
      aria-labelledby={id}
      className="grid gap-x-16 gap-y-4 border-t border-line py-8 sm:py-10 lg:grid-cols-[18rem_minmax(0,1fr)]"
    >
      <div>
        <p className="text-soft">{who}</p>
        <h2 id={id} className="mt-1 text-2xl/8 font-semibold tracking-tight text-balance">
          {title}
        </h2>
      </div>
      <div className="max-w-2xl min-w-0 space-y-4 text-pretty">{children}</div>
    </section>
  )
}
