import type { Certificate } from '../certificate.ts'
import { ChannelsClause, GradeClause, OwnerClause } from './certificate-evidence.tsx'
import { CertificateFace } from './certificate-face.tsx'
import { htmlOf } from './html.tsx'
import type { PageContext } from './page-context.ts'
import { Clause, Sheet } from './sheet.tsx'
import { Shell } from './shell.tsx'

const LINK = 'text-accent underline underline-offset-4 hover:text-accent-strong'

/** A certificate of an agent that does not exist, marked as a sample in its title, above its status and at its end. */
export function samplePage(context: PageContext, certificate: Certificate): string {
  const { serviceName } = context
  return htmlOf(
    <Shell
      context={context}
      title={`Sample certificate · ${serviceName}`}
      description={`A sample of a ${serviceName} certificate. The agent does not exist.`}
      path={null}
      banner={
        <aside
          aria-label="Sample"
          className="bg-warn px-4 py-3 text-center text-lg/6 font-semibold text-warn-wash"
        >
          Sample: this agent does not exist, and nobody was verified.
        </aside>
      }
    >
      <Sheet>
        <CertificateFace
          context={context}
          certificate={certificate}
          sampleBand={
            <p className="bg-warn-wash px-5 py-5 text-warn sm:px-10 sm:py-6">
              <strong className="block text-3xl/9 font-bold tracking-tight sm:text-4xl/10">
                Sample
              </strong>
              <span className="text-base sm:text-lg">
                {serviceName} has not issued this certificate.
              </span>
            </p>
          }
        />
        <OwnerClause certificate={certificate} />
        <GradeClause certificate={certificate} />
        <ChannelsClause certificate={certificate} />
        <Clause id="real" title="On a real certificate">
          <p>
            A real certificate also shows the DID and the public key of the agent, a badge, and the
            commands that verify everything on the page. Its address begins with{' '}
            <code className="font-mono text-sm wrap-anywhere">{context.site.baseUrl}/agent/</code>.
          </p>
          <p className="flex flex-wrap gap-x-7 gap-y-2">
            <a href="/check" className={LINK}>
              Check an agent
            </a>
            <a href="/dashboard/sign-up" className={LINK}>
              Create account
            </a>
          </p>
        </Clause>
      </Sheet>
    </Shell>,
  )
}
