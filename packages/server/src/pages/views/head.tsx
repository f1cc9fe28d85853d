import type { PageContext } from './page-context.ts'

export interface HeadProps {
  readonly context: PageContext
  readonly title: string
  readonly description: string
  /** Canonical path of the page; null for error pages, which have none. */
  readonly path: string | null
  /** The URL of a module that this page needs besides the script of all pages. */
  readonly script?: string
  /** The image that social networks show. */
  readonly image?: { readonly path: string; readonly alt: string }
  /** Machine-readable alternates of the page. */
  readonly alternates?: readonly { readonly type: string; readonly href: string }[]
  /** Structured data in the vocabulary of schema.org. */
  readonly jsonLd?: object
}

/** The id of the last element of every page. */
export const END_OF_PAGE = 'end-of-page'

export function Head(props: HeadProps) {
  const { context, title, description, path, script, image, alternates = [], jsonLd } = props
  const { assets, site, serviceName } = context
  const url = path === null ? null : site.baseUrl + path
  return (
    <head>
      <meta charSet="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <title>{title}</title>
      <meta name="description" content={description} />
      {url === null ? (
        <meta name="robots" content="noindex" />
      ) : (
        <>
          <link rel="canonical" href={url} />
          <meta property="og:url" content={url} />
        </>
      )}
      <meta property="og:type" content="website" />
      <meta property="og:site_name" content={serviceName} />
      <meta property="og:title" content={title} />
      <meta property="og:description" content={description} />
      <meta name="twitter:card" content={image === undefined ? 'summary' : 'summary_large_image'} />
      <meta name="twitter:title" content={title} />
      <meta name="twitter:description" content={description} />
      {image !== undefined && <Preview url={site.baseUrl + image.path} alt={image.alt} />}
      {/* Paint only when the whole page has arrived, so that nothing shifts while it loads. */}
      <link rel="expect" href={`#${END_OF_PAGE}`} blocking="render" />
      <link rel="icon" href="/icon.svg" type="image/svg+xml" />
      {assets.fonts.map((href) => (
        <link key={href} rel="preload" href={href} as="font" type="font/woff2" crossOrigin="" />
      ))}
      {/* Neither deferred nor a module: the theme applies before anything is painted. */}
      <script src={assets.script} />
      {script !== undefined && <script type="module" src={script} />}
      <link rel="stylesheet" href={assets.style} />
      {alternates.map(({ type, href }) => (
        <link key={href} rel="alternate" type={type} href={href} />
      ))}
      {jsonLd !== undefined && (
        <script
          type="application/ld+json"
          // biome-ignore lint/security/noDangerouslySetInnerHtml: JSON in which every character that could end the element is escaped
          dangerouslySetInnerHTML={{ __html: scriptSafeJson(jsonLd) }}
        />
      )}
    </head>
  )
}

function Preview({ url, alt }: { readonly url: string; readonly alt: string }) {
  return (
    <>
      <meta property="og:image" content={url} />
      <meta property="og:image:type" content="image/png" />
      <meta property="og:image:width" content="1200" />
      <meta property="og:image:height" content="630" />
      <meta property="og:image:alt" content={alt} />
      <meta name="twitter:image" content={url} />
      <meta name="twitter:image:alt" content={alt} />
    </>
  )
}

const UNSAFE = /[<>&\u2028\u2029]/g

/** JSON for a `<script>` element: it cannot end the element, begin a comment or break a line. */
function scriptSafeJson(value: object): string {
  return JSON.stringify(value).replaceAll(
    UNSAFE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
