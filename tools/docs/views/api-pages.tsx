import { ERROR_STATUS } from '@countersign/protocol'
import { htmlOf } from '../../../packages/server/src/pages/views/html.tsx'
import type { PageContext } from '../../../packages/server/src/pages/views/page-context.ts'
import type { ApiPage, ApiReference, ApiSection } from '../api-model.ts'
import type { BookHeading } from '../book.ts'
import { ErrorCodes, Operation } from './api-operation.tsx'
import { DocsLayout } from './docs-layout.tsx'
import type { DocsMap } from './docs-view.ts'
import { ScrollingTable } from './scrolling.tsx'

const PATH = '/docs/api'

/** The index of the HTTP reference: all operations and their common rules. */
export function apiIndexPage(
  context: PageContext,
  map: DocsMap,
  { sections, errors }: ApiReference,
): string {
  const { serviceName, site } = context
  const headings = [
    ...sections.map(({ name, title }) => heading(name, title)),
    heading('conventions', 'Conventions'),
    heading('errors', 'Errors'),
  ]
  return htmlOf(
    <DocsLayout
      context={context}
      title={`API reference · ${serviceName}`}
      description={`Every endpoint of ${serviceName}, by task.`}
      path={PATH}
      alternates={[{ type: 'application/json', href: '/openapi.json' }]}
      place={{ map, path: PATH, headings }}
      heading="API reference"
    >
      <div className="doc mt-8">
        <p>
          Base URL: <code>{site.baseUrl}</code>. For programs:{' '}
          <a href="/openapi.json">openapi.json</a> (OpenAPI 3.1).
        </p>
        {sections.map((section) => (
          <Section key={section.name} section={section} />
        ))}
        <h2 id="conventions">Conventions</h2>
        <ul>
          <li>
            Bodies are JSON in UTF-8 with <code>Content-Type: application/json</code>, at most 16
            KiB unless the endpoint states another limit. Unknown fields and repeated keys are
            refused.
          </li>
          <li>Times are ISO 8601 in UTC. Keys and signatures are padded standard base64.</li>
          <li>
            Cacheable responses have an <code>ETag</code>. Send it in <code>If-None-Match</code> to
            get 304. HEAD works like GET, without the body.
          </li>
          <li>
            Name an agent by its DID, by the last 24 characters of the DID, or by its public key,
            percent-encoded once.
          </li>
          <li>
            Only the owner API needs an API key or a session. Endpoints that only read or verify
            allow requests from any origin (CORS).
          </li>
        </ul>
        <h2 id="errors">Errors</h2>
        <p>
          Every error has this shape: <code>{'{"error":{"code","message","requestId"}}'}</code>.
          Switch on <code>code</code>. <code>message</code> is for people, and operators find{' '}
          <code>requestId</code> in the log.
        </p>
        <p>
          Every operation can answer with <ErrorCodes codes={errors} />. The pages of the operations
          list the others.
        </p>
        <ScrollingTable label="Errors" heads={['code', 'status']}>
          {Object.entries(ERROR_STATUS).map(([code, status]) => (
            <tr key={code}>
              <td>
                <code>{code}</code>
              </td>
              <td>{status}</td>
            </tr>
          ))}
        </ScrollingTable>
      </div>
    </DocsLayout>,
  )
}

function Section({ section: { name, title, pages } }: { readonly section: ApiSection }) {
  return (
    <>
      <h2 id={name}>{title}</h2>
      {pages.map((page) => (
        <div key={page.name}>
          {pages.length > 1 && (
            <h3>
              <a href={`${PATH}/${page.name}`}>{page.title}</a>
            </h3>
          )}
          <ul className="api-list">
            {page.operations.map(({ id, method, path, summary }) => (
              <li key={id}>
                <a href={`${PATH}/${page.name}#${id}`}>{summary}</a>
                <code>
                  {method} {path}
                </code>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </>
  )
}

/** A page of the HTTP reference with the operations of a resource. */
export function apiResourcePage(context: PageContext, map: DocsMap, page: ApiPage): string {
  const { name, title, tag, operations, errors } = page
  const path = `${PATH}/${name}`
  return htmlOf(
    <DocsLayout
      context={context}
      title={`${title} · API reference · ${context.serviceName}`}
      description={operations
        .map(({ summary }) => summary)
        .join('. ')
        .slice(0, 200)}
      path={path}
      place={{ map, path, headings: operations.map(({ id, summary }) => heading(id, summary)) }}
      heading={title}
    >
      <div className="doc mt-8">
        {tag === 'owner' && (
          <p>
            Use an <a href="/docs/owners-api">API key</a>, here in <code>$API_KEY</code>. Endpoints
            without a scope need a session: the cookie that a sign-in sets, here in{' '}
            <code>cookies.txt</code>.
          </p>
        )}
        {tag === 'scim' && (
          <p>
            Use a <a href={`${PATH}/scim-tokens`}>SCIM token</a>, here in <code>$SCIM_TOKEN</code>.
          </p>
        )}
        {operations.map((operation) => (
          <Operation key={operation.id} operation={operation} />
        ))}
        <h2 id="errors">Errors of all these operations</h2>
        <p>
          {errors.length > 0 && (
            <>
              <ErrorCodes codes={errors} />, and{' '}
            </>
          )}
          <a href={`${PATH}#errors`}>the errors of every operation</a>.
        </p>
      </div>
    </DocsLayout>,
  )
}

function heading(id: string, text: string): BookHeading {
  return { id, text, level: 2 }
}
