--[[ block ]] --[==[ deeper ]] ]==]
-- line
return nil --