import type { ApiBody, ApiOperation } from '../api-model.ts'
import type { SchemaRow } from '../schema-rows.ts'
import { TryIt } from './api-try.tsx'
import { ScrollingCode, ScrollingTable } from './scrolling.tsx'

/** An operation of the HTTP reference: path, parameters, body, responses, errors and a curl example. */
export function Operation({ operation }: { readonly operation: ApiOperation }) {
  const { id, method, path, summary, description, parameters, body, responses, errors, curl } =
    operation
  const { apiKeyScope } = operation
  return (
    <article aria-labelledby={id}>
      <h2 id={id}>{summary}</h2>
      <p className="api-address">
        <code>
          <b>{method}</b> {path}
        </code>
      </p>
      {description !== '' && <p>{withCode(description)}</p>}
      {apiKeyScope !== null && (
        <p>
          Needs a session, or an API key with the scope <code>{apiKeyScope}</code>.
        </p>
      )}
      <ScrollingCode language="sh">{curl}</ScrollingCode>
      <TryIt operation={operation} />
      {parameters.length > 0 && (
        <>
          <h3>Parameters</h3>
          <Members
            isRequest
            what={`Parameters of ${summary}`}
            rows={parameters.map((each) => ({
              ...each,
              type: `${each.type}, in the ${PLACES[each.in] ?? each.in}`,
            }))}
          />
        </>
      )}
      {body.map((each) => (
        <Body key={each.type} heading="Request" about={summary} body={each} />
      ))}
      {responses.map(({ status, description: means, bodies }) => (
        <div key={status}>
          {bodies.length === 0 ? (
            <p>
              <b>{status}</b>: {means}.
            </p>
          ) : (
            bodies.map((each) => (
              <Body key={each.type} heading={status} means={means} about={summary} body={each} />
            ))
          )}
        </div>
      ))}
      <p>
        Errors: <a href="#errors">those of all these operations</a>
        <ErrorCodes codes={errors} isContinued />.
      </p>
    </article>
  )
}

interface ErrorCodesProps {
  readonly codes: readonly string[]
  /** Whether something precedes the first code. A code that depends on the deployment is never the first. */
  readonly isContinued?: boolean
}

export function ErrorCodes({ codes, isContinued = false }: ErrorCodesProps) {
  return codes.map((code, index) => (
    <span key={code}>
      {(isContinued || index > 0) && ', '}
      <code>{code}</code>
    </span>
  ))
}

const PLACES: Readonly<Record<string, string>> = {
  path: 'path',
  query: 'query',
  header: 'header',
}

interface BodyProps {
  readonly heading: string
  readonly means?: string
  readonly about: string
  readonly body: ApiBody
}

function Body({ heading, means, about, body }: BodyProps) {
  const { type, rows, example, isShortened, sameAs } = body
  return (
    <>
      <h3>
        {heading} <code>{type}</code>
      </h3>
      {means !== undefined && <p>{means}.</p>}
      {sameAs !== null && (
        <p>
          The fields are those of <a href={`#${sameAs.id}`}>{sameAs.summary}</a>.
        </p>
      )}
      {rows.length > 0 && (
        <Members
          what={`${heading} ${type} of ${about}`}
          rows={rows}
          isRequest={means === undefined}
        />
      )}
      {example !== null && (
        <>
          <p>Example{isShortened && ', with one member of each list'}:</p>
          <ScrollingCode language="json">{example}</ScrollingCode>
        </>
      )}
    </>
  )
}

/** A description, with the parts between backticks as code. */
function withCode(text: string) {
  return text
    .split('`')
    .map((part, index) => (index % 2 === 1 ? <code key={part}>{part}</code> : part))
}

interface MembersProps {
  readonly what: string
  readonly rows: readonly SchemaRow[]
  /** Whether the caller sends them, and has to know which are required. */
  readonly isRequest?: boolean
}

function Members({ what, rows, isRequest = false }: MembersProps) {
  return (
    <ScrollingTable label={what} heads={['Name', 'Type', 'Description']} members>
      {rows.map(({ name, type, optional, description }) => (
        <tr key={name}>
          <td>
            <code>{name === '' ? 'the body' : name}</code>
            {isRequest && (
              <span className={optional ? 'api-optional' : 'api-required'}>
                {optional ? ' optional' : ' required'}
              </span>
            )}
            {!isRequest && optional && <span className="api-optional"> may be absent</span>}
          </td>
          <td>{type}</td>
          <td>{withCode(description)}</td>
        </tr>
      ))}
    </ScrollingTable>
  )
}
