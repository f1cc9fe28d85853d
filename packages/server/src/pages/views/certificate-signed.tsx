import { Command, formatDay, KeyValue } from '@countersign/ui'
import { timestamp } from '../../base/timestamp.ts'
import { downloadCommand, verifyCommands } from '../certificate-commands.ts'
import type { FaceProps } from './certificate-face.tsx'
import { pathOf } from './page-context.ts'
import { Clause } from './sheet.tsx'

const LINK = 'text-accent underline underline-offset-4 hover:text-accent-strong'

/** The entry of the current key in the transparency log. Nothing while it is not under a checkpoint. */
export function LogClause({ context, certificate: { agent, log } }: FaceProps) {
  if (log === null) return null
  const did = agent[context.site.naming.didField]
  return (
    <Clause id="log" title="Transparency log">
      <p>
        The current key is in a public append-only log, in which nobody can change or remove an
        entry unnoticed. The entry shows that the key was logged, not that the certificate is
        active.
      </p>
      <dl className="grid gap-x-8 gap-y-4 sm:grid-cols-2">
        <KeyValue name="Log">{log.origin}</KeyValue>
        <KeyValue name="Index of the entry">{log.index}</KeyValue>
        <KeyValue name="Newest checkpoint">
          {/* Only the day: with the time, the page and its ETag would change with each change of another agent. */}
          Signed on {formatDay(timestamp(log.checkpointAt))}
        </KeyValue>
        {log.cosigners.length > 0 && (
          <KeyValue name="Cosigned by">
            <ul>
              {log.cosigners.map((name) => (
                <li key={name}>{name}</li>
              ))}
            </ul>
          </KeyValue>
        )}
      </dl>
      {log.cosigners.length > 0 && (
        <p>
          The newest checkpoint has cosignatures of witnesses. A witness cosigns only if the log
          still contains everything that the witness has cosigned before. A log with two histories
          gets no cosignature for the second one.
        </p>
      )}
      <ul className="flex flex-wrap gap-x-7 gap-y-2">
        {[
          { name: 'Proof', path: `/log/proof/${did}` },
          { name: 'All entries about this agent', path: `/log/agent/${did}` },
          { name: 'Checkpoint', path: '/log/checkpoint' },
          { name: 'What the log proves', path: '/docs/transparency' },
        ].map(({ name, path }) => (
          <li key={name}>
            <a href={path} className={LINK}>
              {name}
            </a>
          </li>
        ))}
      </ul>
    </Clause>
  )
}

/** The signed certificate for download, and how to verify it without this service. Only active agents have one. */
export function SignedClause({ context, certificate: { agent } }: FaceProps) {
  if (agent.status !== 'active') return null
  const { baseUrl } = context.site
  const url = `${agent.links.lookup}/certificate`
  return (
    <Clause id="signed" title="Signed certificate">
      <p>
        <a href={pathOf(url)} download="certificate.jwt" className={LINK}>
          Download the certificate
        </a>{' '}
        as a JSON Web Token. Anyone can verify it with the{' '}
        <a href="/.well-known/jwks.json" className={LINK}>
          keys of {context.serviceName}
        </a>
        , also offline.
      </p>
      <Command value={downloadCommand(url)} what="the command that downloads it" />
      <div className="divide-y divide-line rounded-lg border border-line">
        {verifyCommands(baseUrl).map(({ name, commands, remark }) => (
          <details key={name} className="px-4 py-3">
            <summary className="cursor-pointer font-medium">Verify it with {name}</summary>
            <div className="space-y-2 pt-3">
              <Command value={commands} what={`the commands for ${name}`} />
              {remark !== null && <p className="text-sm/6 text-soft">{remark}</p>}
            </div>
          </details>
        ))}
      </div>
      <p className="text-sm/6 text-soft">
        A certificate proves nothing about who sends it: anyone who has seen it can send it. Accept
        it only with a request that is signed with its key, and check its entry in the status list.{' '}
        <a href="/docs/certificates" className={LINK}>
          How to use certificates
        </a>
      </p>
    </Clause>
  )
}
