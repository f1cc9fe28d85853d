import { ERROR_STATUS } from '@countersign/protocol'
import { htmlOf } from '../../../packages/server/src/pages/views/html.tsx'
import type { PageContext } from '../../../packages/server/src/pages/views/page-context.ts'
import type { ApiGroup, ApiOperation } from '../api-model.ts'
import type { BookHeading } from '../book.ts'
import { Operation } from './api-operation.tsx'
import { DocsLayout } from './docs-layout.tsx'
import type { DocsMap } from './docs-view.ts'
import { ScrollingTable } from './scrolling.tsx'

const PATH = '/docs/api'

/** The index of the HTTP reference: all operations and their common rules. */
export function apiIndexPage(
  context: PageContext,
  map: DocsMap,
  groups: readonly ApiGroup[],
): string {
  const { serviceName, site } = context
  const headings = [
    ...groups.map(({ name, title }) => heading(name, title)),
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
        {groups.map((group) => (
          <GroupList key={group.name} group={group} />
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

function GroupList({ group: { name, title, operations } }: { readonly group: ApiGroup }) {
  return (
    <>
      <h2 id={name}>
        <a href={`${PATH}/${name}`}>{title}</a>
      </h2>
      <ul className="api-list">
        {operations.map(({ id, method, path, summary }) => (
          <li key={id}>
            <a href={`${PATH}/${name}#${id}`}>{summary}</a>
            <code>
              {method} {path}
            </code>
          </li>
        ))}
      </ul>
    </>
  )
}

/** A page of the HTTP reference with the operations of one tag. */
export function apiGroupPage(context: PageContext, map: DocsMap, group: ApiGroup): string {
  const path = `${PATH}/${group.name}`
  const headings = group.operations.map(({ id, summary }: ApiOperation) => heading(id, summary))
  return htmlOf(
    <DocsLayout
      context={context}
      title={`${group.title} · API reference · ${context.serviceName}`}
      description={group.operations
        .map(({ summary }) => summary)
        .join('. ')
        .slice(0, 200)}
      path={path}
      place={{ map, path, headings }}
      heading={group.title}
    >
      <div className="doc mt-8">
        {group.name === 'owner' && (
          <p>
            Use an <a href="/docs/owners-api">API key</a>, here in <code>$API_KEY</code>. Endpoints
            without a scope need a session: the cookie that a sign-in sets, here in{' '}
            <code>cookies.txt</code>.
          </p>
        )}
        {group.operations.map((operation) => (
          <Operation key={operation.id} operation={operation} />
        ))}
      </div>
    </DocsLayout>,
  )
}

function heading(id: string, text: string): BookHeading {
  return { id, text, level: 2 }
}
