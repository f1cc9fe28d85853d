import { Loading, Skeleton } from '../components/skeleton.tsx'
import { Brand } from './brand.tsx'
import { Frame } from './frame.tsx'

/** Shown while the code of a page is loading. */
export function PagePlaceholder() {
  return (
    <div className="flex flex-col gap-8">
      <Loading what="the page" />
      <Skeleton className="h-10 w-56" />
      <Skeleton className="h-72" />
    </div>
  )
}

/** Shown while the session is loading, before the layout with its header. */
export function FramedPlaceholder() {
  return (
    <Frame
      header={
        <div className="py-4">
          <Brand name={undefined} />
        </div>
      }
    >
      <PagePlaceholder />
    </Frame>
  )
}
