import { Command, StatusIcon } from '@countersign/ui'
import { Fragment, type ReactNode } from 'react'
import type { Target } from '../console/configuration.ts'
import type { ConsoleResult } from '../console/simulate.ts'

interface ConsoleCodeProps {
  readonly result: ConsoleResult | null
  /** The tab that is open, unchecked. */
  readonly target: string
  /** As `npm install` takes it. */
  readonly gatewayPackage: string
}

/** The program for each framework, and the files for proxies. */
export function ConsoleCode({ result, target, gatewayPackage }: ConsoleCodeProps) {
  const current = TARGETS.find(([each]) => each === target)?.[0] ?? TARGETS[0][0]
  return (
    <section
      id="code"
      data-part
      data-empty={result === null || undefined}
      aria-label="Code"
      className="min-w-0 space-y-3"
    >
      {result === null ? (
        <p className="rounded-lg bg-sunken px-4 py-3">Correct the policy to see the code.</p>
      ) : (
        <>
          <Warning result={result} />
          <div className="doc">
            <div className="doc-tabs" role="radiogroup" aria-label="Framework or proxy">
              {TARGETS.map(([each, title, file, note = PROGRAM_NOTE]) => (
                <Fragment key={each}>
                  <input
                    type="radio"
                    id={`target-${each}`}
                    name="target"
                    value={each}
                    defaultChecked={each === current}
                  />
                  <label htmlFor={`target-${each}`}>{title}</label>
                  <div className="doc-tab space-y-3">
                    <CodeText text={result.configurations[each]} file={file} />
                    {note}
                  </div>
                </Fragment>
              ))}
            </div>
          </div>
          <p>Install the gateway:</p>
          <Command value={`npm install ${gatewayPackage}`} what="the command" />
        </>
      )}
    </section>
  )
}

/** Above the code of a policy that is not safe. */
function Warning({ result: { impostors, mode } }: { readonly result: ConsoleResult }) {
  if (impostors === 'never') return null
  return (
    <p role="status" className="flex gap-3 rounded-lg bg-warn-wash px-4 py-3 text-warn">
      <StatusIcon status="suspended" className="mt-0.5 size-6 shrink-0" />
      <span>
        {impostors === 'always' ? (
          <>
            <strong className="font-semibold">
              Anyone can name any agent. This configuration admits impostors.
            </strong>{' '}
            {mode === 'shadow' ? (
              <>
                Shadow mode refuses nothing. Set <Code>mode</Code> to <Code>"enforce"</Code> once
                the log shows what you expect.
              </>
            ) : (
              <>
                Set <Code>requireProof</Code> to <Code>true</Code> in the policy and its routes.
              </>
            )}
          </>
        ) : (
          <>
            <strong className="font-semibold">
              While the service is unreachable, anyone can name any agent. This configuration then
              admits impostors.
            </strong>{' '}
            Set <Code>unreachable</Code> to <Code>"deny"</Code> or <Code>"stale"</Code>.
          </>
        )}
      </span>
    </p>
  )
}

const PROXIES = [
  ['nginx', 'nginx', ['countersign.conf']],
  ['caddy', 'Caddy', ['Caddyfile']],
  ['traefik', 'Traefik', ['countersign.yml']],
  ['haproxy', 'HAProxy', ['haproxy.cfg', 'countersign.lua']],
  ['envoy', 'Envoy', ['envoy.yaml']],
] as const

const PROGRAM_NOTE = (
  <p>
    If a proxy in front terminates TLS, add <code>tlsTerminated: true</code>. If your site runs in
    several processes, they must{' '}
    <a href="/docs/gateway-guide#recipe-proven-agents-of-verified-owners-only">
      share the used nonces
    </a>
    .
  </p>
)

const PROXY_NOTE = (
  <>
    <p>
      Start the gateway with <code>npx countersign-gateway --config gateway.json</code>, and add the
      file for your proxy:
    </p>
    <ul>
      {PROXIES.map(([page, name, files]) => (
        <li key={name}>
          <a href={`/docs/gateways-${page}#configuration`}>{name}</a>
          {': '}
          {files.map((file, index) => (
            <Fragment key={file}>
              {index > 0 && ', '}
              <a href={`/docs/deploy/${page}/${file}`} download={file}>
                <code>{file}</code>
              </a>
            </Fragment>
          ))}
        </li>
      ))}
    </ul>
  </>
)

type TargetTab = readonly [target: Target, title: string, file: string, note?: ReactNode]

const TARGETS: readonly [TargetTab, ...TargetTab[]] = [
  ['express', 'Express', 'express.mjs'],
  ['fastify', 'Fastify', 'fastify.mjs'],
  ['hono', 'Hono', 'hono.mjs'],
  ['fetch', 'Fetch, Workers', 'worker.mjs'],
  ['nextjs', 'Next.js', 'route.js'],
  ['proxy', 'Proxy', 'gateway.json', PROXY_NOTE],
]

function Code({ children }: { readonly children: ReactNode }) {
  return <code className="font-mono text-sm wrap-anywhere">{children}</code>
}

interface CodeTextProps {
  readonly text: string
  /** The name of the file to download. */
  readonly file: string
}

/** Not highlighted: unlike the documentation, it depends on the input. */
function CodeText({ text, file }: CodeTextProps) {
  return (
    <>
      <div className="code">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls the focused element (WCAG 2.1.1) */}
        <pre tabIndex={0}>
          <code>{text}</code>
        </pre>
        <button type="button" className="code-copy" data-copy="">
          <span data-copy-word aria-live="polite">
            Copy
          </span>
          <span className="sr-only"> the code</span>
        </button>
      </div>
      <p>
        <a href={`data:text/plain;charset=utf-8,${encodeURIComponent(text)}`} download={file}>
          Download {file}
        </a>
      </p>
    </>
  )
}
