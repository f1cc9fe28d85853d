import { Command } from '@countersign/ui'
import { downloadCommand, verifyCommands } from '../certificate-commands.ts'
import type { FaceProps } from './certificate-face.tsx'
import { pathOf } from './context.ts'
import { Clause } from './sheet.tsx'

const LINK = 'text-accent underline underline-offset-4 hover:text-accent-strong'

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
