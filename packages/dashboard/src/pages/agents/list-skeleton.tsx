import { Loading, Skeleton } from '../../parts/skeleton.tsx'

/** The list before anything of it is known. */
export function ListSkeleton() {
  return (
    <>
      <Loading what="your agents" />
      <div className="flex flex-col gap-4">
        <div className="grid gap-4 sm:grid-cols-[minmax(0,1fr)_10rem]">
          <Skeleton className="h-19" />
          <Skeleton className="h-19" />
        </div>
        <Skeleton className="h-22 min-[25rem]:h-10 sm:max-w-md" />
      </div>
      <Skeleton className="h-80 rounded-2xl" />
    </>
  )
}
