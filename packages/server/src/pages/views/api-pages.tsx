import { ERROR_STATUS } from '@countersign/protocol'
import type { ApiGroup, ApiOperation } from '../docs/api-model.ts'
import type { BookHeading } from '../docs/book.ts'
import { Operation } from './api-operation.tsx'
import type { PageContext } from './context.ts'
import { DocsLayout } from './docs-layout.tsx'
import type { DocsMap } from './docs-view.ts'
import { htmlOf } from './html.tsx'
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
    heading('conventions', 'What all have in common'),
    heading('errors', 'Errors'),
  ]
  return htmlOf(
    <DocsLayout
      context={context}
      title={`HTTP reference · ${serviceName}`}
      description={`Every operation of ${serviceName}, by what it is for.`}
      path={PATH}
      alternates={[{ type: 'application/json', href: '/openapi.json' }]}
      place={{ map, path: PATH, headings }}
      heading="HTTP reference"
    >
      <div className="doc mt-8">
        <p>
          Every address is below <code>{site.baseUrl}</code>. The same is told to programs at{' '}
          <a href="/openapi.json">openapi.json</a> (OpenAPI 3.1).
        </p>
        {groups.map((group) => (
          <GroupList key={group.name} group={group} />
        ))}
        <h2 id="conventions">What all have in common</h2>
        <ul>
          <li>
            Bodies are JSON in UTF-8 with <code>Content-Type: application/json</code>, at most 16
            KiB where nothing else is said. Fields that are not known, and keys twice in one object,
            are refused.
          </li>
          <li>Times are ISO 8601 in UTC. Keys and signatures are padded standard base64.</li>
          <li>
            Answers that may be kept have an <code>ETag</code>: send it back in{' '}
            <code>If-None-Match</code> and get 304. HEAD is answered like GET, without the body.
          </li>
          <li>
            Agents are named by their DID, by its last 24 characters, or by their public key,
            percent-encoded once.
          </li>
          <li>
            Only what owners do needs a session: the cookie that a sign-in sets. All else is open to
            everyone, and readable from any web page where it only reads or verifies.
          </li>
        </ul>
        <h2 id="errors">Errors</h2>
        <p>
          Every refusal has one shape: <code>{'{"error":{"code","message","requestId"}}'}</code>.
          Switch on <code>code</code>; <code>message</code> is for people, and{' '}
          <code>requestId</code> is what the host finds in the log.
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
      title={`${group.title} · HTTP reference · ${context.serviceName}`}
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
            These need a session: the cookie that a sign-in sets, here in <code>cookies.txt</code> (
            <code>curl -c</code> writes it). <a href="/docs/owners-api">The owners’ API</a> goes the
            way step by step.
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
