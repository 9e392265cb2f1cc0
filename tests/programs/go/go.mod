module routelens.test/programs/go

go 1.19
