module countersign.internal/countersign

go 1.19
